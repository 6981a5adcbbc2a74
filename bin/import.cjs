'use strict';

var url = require('url');

// A separate file, because old versions of Node.js cannot parse import(). A failure exits with status 1.
module.exports = function importMain(main) {
  return import(url.pathToFileURL(main).href);
};
