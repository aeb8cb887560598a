#!/bin/bash
# SPDX-License-Identifier: MIT
# Who may include whom: shm/ nothing of ours but itself; client/ and daemon/ shm/ and themselves, never each other;
# nothing includes daemon/ but daemon/ and tests/. Prints each violation; exits 1 when there is one.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
bad=0

# Every `#include "..."` of a file, resolved: beside the file first, then from the root, then from client/.
included() { # file
	local name
	sed -n 's/^[ \t]*#[ \t]*include[ \t]*[<"]\([^">]*\)[">].*/\1/p' "$1" | while read -r name; do
		local base
		for base in "$(dirname "$1")/" "" client/; do
			if [ -f "$base$name" ]; then
				realpath --relative-to=. "$base$name"
				break
			fi
		done
	done
}

forbid() { # directory of the includer, extended pattern of what it may include
	local file header
	while IFS= read -r file; do
		while IFS= read -r header; do
			[[ $header =~ $2 ]] && continue
			echo "$file includes $header"
			bad=1
		done < <(included "$file")
	done < <(git ls-files "$1" | grep -E '\.(c|h|cpp|hpp)$')
}

forbid shm '^shm/'
forbid client '^(shm|client)/'
forbid daemon '^(shm|daemon)/'
forbid examples '^(shm|client/fprof[a-z_]*\.(h|hpp)$)'
exit "$bad"
