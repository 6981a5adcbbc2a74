#!/bin/sh
# Runs a program as root in a copy of this system, which has the folder of the second argument at /packages and is gone when the
# program ends: throwaway.sh FOLDER PACKAGES PROGRAM [ARGUMENT …]. FOLDER is empty. Needs root and overlayfs; started by
# `unshare --mount --pid --fork`, so that mounts and processes end with it.
set -e
folder=$1 packages=$2
shift 2
mount -t tmpfs tmpfs "$folder"
mkdir "$folder/changes" "$folder/work" "$folder/root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$folder/changes,workdir=$folder/work" "$folder/root"
mount -t proc proc "$folder/root/proc"
mount --rbind /dev "$folder/root/dev"
mkdir "$folder/root/packages"
mount --bind "$packages" "$folder/root/packages"
exec chroot "$folder/root" "$@"
