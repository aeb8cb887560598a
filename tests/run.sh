#!/bin/bash
# SPDX-License-Identifier: MIT
# All tests. Each job is a program that prints a line a test: "ok NAME", "not ok NAME" or "skip NAME: reason"
# (TAP's "# SKIP" too). A job that fails without such a line counts as one failure, and so does one that
# prints none. Two jobs run at a time, after those that need the machine to themselves. The last line is the
# summary.
#
# TESTS=PATTERN runs only the jobs whose name matches the shell pattern. JOBS=N: how many at a time.
set -uo pipefail

cd "$(dirname "$0")/.." || exit 1
MAKE=${MAKE:-make}
JOBS=${JOBS:-2}
export B=${B:-build}
FPROF_BUILD=$(realpath -m "$B")
export FPROF_BUILD
export CMOCKA_MESSAGE_OUTPUT=TAP
export PATH=$PATH:/usr/games
unset FPROF_SOCKET FPROF_URL FPROF_TOKEN FPROF_NAME FPROF_CLOCK FPROF_LOOP MAKEFLAGS MFLAGS MAKELEVEL
logs=$B/check
rm -rf "$logs"
mkdir -p "$logs"

names=()
commands=()
alone=0 # the first so many run one at a time
job() { # name, command
	# shellcheck disable=SC2053 # TESTS is a pattern
	[[ $1 == ${TESTS:-*} ]] || return 0
	names+=("$1")
	commands+=("$2")
}

node_job() { # name, files...
	local name=$1
	shift
	[ -e "$1" ] || return 0
	job "$name" "node --test --test-reporter=./tests/reporter.mjs $*"
}

# npm's packages, when they are not those of the lock file.
node_modules() {
	local have=tests/node_modules/.package-lock.json
	[ -f "$have" ] && [ ! tests/package-lock.json -nt "$have" ] && return 0
	npm ci --prefix tests --no-audit --no-fund
}

build() {
	echo "Building ..."
	"$MAKE" --no-print-directory -k -j"$JOBS" B="$B" all units stress >"$logs/build.log" 2>&1 && return 0
	tail -n 40 "$logs/build.log"
	echo "not ok build"
	echo "0 passed, 1 failed, 0 skipped"
	exit 1
}

list_jobs() {
	local file name
	# A Doom that has to wait draws fewer frames.
	node_job api/doom tests/api/doom.test.mjs
	alone=${#names[@]}
	# The long ones first.
	for name in units api stress scripts; do
		job "asan/$name" "bash tests/house/sanitized.sh $name"
	done
	job lint 'bash tests/lint/lint.sh'
	job model 'bash tests/model/model.sh'
	job fuzz 'bash tests/fuzz/replay.sh'
	for file in tests/stress/*.test.mjs; do
		node_job "stress/$(basename "$file" .test.mjs)" "$file"
	done
	for file in tests/stress/*.sh; do
		[ ! -e "$file" ] || job "stress/$(basename "$file" .sh)" "bash $file"
	done
	# All of them run on the sanitized build (asan/api); these on the one that is installed, too: what cannot be
	# sanitized, what hangs on time, and a bit of everything.
	for name in allocations attach captures contract frames hooked query restart sources spikes verdict vkcube zones; do
		node_job "api/$name" "tests/api/$name.test.mjs"
	done
	for file in tests/browser/*.test.mjs; do
		node_job "browser/$(basename "$file" .test.mjs)" "$file"
	done
	for file in tests/*/run.sh; do
		case $file in tests/bench/*) continue ;; esac
		name=$(basename "$(dirname "$file")")
		job "$name" "bash $file"
	done
	for file in tests/house/*.sh; do
		[ "$file" = tests/house/sanitized.sh ] || job "house/$(basename "$file" .sh)" "bash $file"
	done
	node_job web tests/web/*.test.mjs
	for file in tests/unit/test_*.c tests/unit/test_*.cpp; do
		[ -e "$file" ] || continue
		name=$(basename "${file%.*}")
		job "unit/$name" "$B/tests/unit/$name"
	done
}

passed=0
failed=0
skipped=0

# The lines of a job's log, each with the job's name; counts them.
report() { # index, exit status
	local name=${names[$1]} status=$2 log before=$failed ran=0 line
	log=$logs/${name//\//.}.log
	while IFS= read -r line; do
		case $line in
		*'# SKIP'* | 'skip '*)
			skipped=$((skipped + 1))
			echo "$name: $line"
			;;
		'not ok '*)
			failed=$((failed + 1))
			echo "$name: $line"
			;;
		'ok '*)
			passed=$((passed + 1))
			echo "$name: $line"
			;;
		*) continue ;;
		esac
		ran=$((ran + 1))
	done <"$log"
	if [ "$status" != 0 ] && [ "$failed" = "$before" ]; then
		failed=$((failed + 1))
		echo "$name: not ok $name ended with status $status"
	elif [ "$ran" = 0 ]; then
		failed=$((failed + 1))
		echo "$name: not ok $name ran no test"
	fi
	[ "$failed" = "$before" ] || sed "s%^%    $name> %" "$log" | tail -n 200
}

# What there is of ours where all users write. The tests' own is in TMPDIR.
ours() {
	find /tmp /dev/shm -maxdepth 1 -user "$(id -u)" \( -name 'fprof-*' -o -name 'fprofd-*' \) ! -path "$TMPDIR" 2>/dev/null
	find "/dev/shm/fprofd-$(id -u)" -mindepth 1 -maxdepth 1 2>/dev/null
}

# Two tests: whoever makes a directory removes it.
check_leftovers() {
	local left
	left=$(find "$TMPDIR" -mindepth 1 -maxdepth 1)
	verdict "house: nothing is left in TMPDIR" "$left"
	if [ "$others" != 0 ] || pgrep -x fprofd >/dev/null; then
		echo "house: skip nothing is left in /tmp and /dev/shm: another fprofd runs beside the tests"
		skipped=$((skipped + 1))
		return
	fi
	left=$(comm -13 <(echo "$ours_before") <(ours | sort))
	verdict "house: nothing is left in /tmp and /dev/shm" "$left"
}

verdict() { # name, what is wrong or nothing
	if [ -z "$2" ]; then
		passed=$((passed + 1))
		echo "${1%%: *}: ok ${1#*: }"
	else
		failed=$((failed + 1))
		echo "${1%%: *}: not ok ${1#*: }"
		printf '%s\n' "$2" | sed 's/^/    /'
	fi
}

declare -A running=() began=() took=()
reap() {
	local pid status=0
	wait -n -p pid "${!running[@]}" || status=$?
	report "${running[$pid]}" "$status"
	took[${names[${running[$pid]}]}]=$((SECONDS - began[$pid]))
	unset "running[$pid]"
}

run_jobs() {
	local i
	for i in "${!names[@]}"; do
		while [ ${#running[@]} -ge "$JOBS" ] || { [ "$i" -le "$alone" ] && [ ${#running[@]} -gt 0 ]; }; do
			reap
		done
		timeout --kill-after=10 1500 bash -c "${commands[i]}" >"$logs/${names[i]//\//.}.log" 2>&1 </dev/null &
		running[$!]=$i
		began[$!]=$SECONDS
	done
	while [ ${#running[@]} -gt 0 ]; do
		reap
	done
}

stop() {
	trap - INT TERM
	[ ${#running[@]} -eq 0 ] || kill "${!running[@]}" 2>/dev/null
	wait
	exit 130
}
trap stop INT TERM

# All that tests write is in a directory of this run, on a tmpfs, where daemons keep their history.
if [ -w /dev/shm ]; then
	TMPDIR=$(mktemp -d -p /dev/shm fprof-XXXXXX)
else
	TMPDIR=$(mktemp -d -t fprof-XXXXXX)
fi
chmod 755 "$TMPDIR" # games of another user go through it
export TMPDIR
trap 'rm -rf "$TMPDIR"' EXIT

SECONDS=0
build
built=$SECONDS
if ! node_modules >"$logs/npm.log" 2>&1; then
	cat "$logs/npm.log"
	echo "not ok npm ci"
	echo "0 passed, 1 failed, 0 skipped"
	exit 1
fi
list_jobs
others=$(pgrep -cx fprofd)
ours_before=$(ours | sort)
run_jobs
check_leftovers
echo "took $SECONDS s, $built of them to build; the longest jobs:"
for name in "${!took[@]}"; do
	echo "${took[$name]} s $name"
done | sort -rn | head -n 15 | sed 's/^/    /'
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
