'use strict';

var url = require('url');

// A file of its own, since an old Node cannot even read the word import. A failure ends the process with status 1.
module.exports = function importMain(main) {
  return import(url.pathToFileURL(main).href);
};
