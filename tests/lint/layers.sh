#!/bin/bash
# SPDX-License-Identifier: MIT
# Who may include whom: shm/ nothing of ours but itself; client/ and daemon/ shm/ and themselves, never each other;
# nothing includes daemon/ but daemon/ and tests/. Prints each violation; exits 1 when there is one.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1

# Every `#include "..."`, resolved: beside the file first, then from the root, then from client/. What is none of the
# tree's files is not ours.
git ls-files '*.c' '*.h' '*.cpp' '*.hpp' | awk '
	function plain(path) {
		gsub(/\/\.\//, "/", path)
		while (sub(/[^\/.][^\/]*\/\.\.\//, "", path))
			;
		sub(/^\.\//, "", path)
		return path
	}
	function found(file, name, beside, i) {
		beside = file
		sub(/[^\/]*$/, "", beside)
		places[1] = beside name; places[2] = name; places[3] = "client/" name
		for (i = 1; i <= 3; i++)
			if (plain(places[i]) in ours)
				return plain(places[i])
		return ""
	}
	BEGIN {
		allowed["shm"] = "^shm/"
		allowed["client"] = "^(shm|client)/"
		allowed["daemon"] = "^(shm|daemon)/"
		allowed["examples"] = "^(shm|client/fprof[a-z_]*[.](h|hpp)$)"
	}
	{ ours[$0] }
	END {
		for (file in ours) {
			split(file, part, "/")
			if (!(part[1] in allowed))
				continue
			while ((getline line <file) > 0) {
				if (line !~ /^[ \t]*#[ \t]*include[ \t]*[<"]/)
					continue
				split(line, quoted, /[<">]/)
				header = found(file, quoted[2])
				if (header != "" && header !~ allowed[part[1]]) {
					print file " includes " header
					bad = 1
				}
			}
			close(file)
		}
		exit bad
	}'
