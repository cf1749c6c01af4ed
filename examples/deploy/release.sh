#!/bin/sh
# release.sh SITE OPT HOST ROOT NAME: copies a site and its trees to a server as a release, and swaps them in.
#
#   ROOT/releases/NAME/{site,opt}    a release
#   ROOT/current                     a symbolic link to the one that is served
#   ROOT/state                       the flag and its companions ([serve] state), which no release brings along
#
# The server has ROOT/current/site as its docroot and ROOT/current/opt as the output ([serve] output), so that one rename
# swaps both: no page is ever served with the trees of another release. The flag is off for that moment, since a
# server that has found a file in the old trees must not open it in the new ones.
set -eu

site=$1 opt=$2 host=$3 root=$4 name=$5
release=$root/releases/$name

adaptc --quiet check "$site" -o "$opt"

# What is equal in the release that is served is neither sent nor stored again. Files of one size and one second may differ
ssh "$host" "mkdir -p '$release' '$root/state'"
rsync -a --checksum --delete --link-dest="$root/current/site" "$site/" "$host:$release/site/"
rsync -a --checksum --delete --link-dest="$root/current/opt" --exclude=/run "$opt/" "$host:$release/opt/"

ssh "$host" "
    set -eu
    cd '$root'
    if [ -e state/opt.do ]; then rm state/opt.do; sleep 1; was_on=yes; fi
    ln -s 'releases/$name' current.new
    mv -T current.new current
    if [ \"\${was_on:-}\" = yes ]; then touch state/opt.do; fi
"
echo "$name is served"
