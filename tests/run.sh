#!/bin/bash
# SPDX-License-Identifier: MIT
# All tests. Each job is a program that prints a line a test: "ok NAME", "not ok NAME" or "skip NAME: reason"
# (TAP's "# SKIP" too). A job that fails without such a line counts as one failure, and so does one that
# prints none. The last lines are those that failed, once more, and the summary.
#
# Jobs run in lanes, side by side: those that watch games as they play, one for two processors at a time; those with a
# browser, one; all others, one a processor, with what the first leave of these, since a game that has to wait shows it.
# Before them runs what needs the machine to itself.
#
# Most of what can run under the sanitizers runs under them, and not a second time on the build that is installed. That
# one is what scripts and browsers use, what the library's unit tests run on, too, and what a test is for that asks
# whether it is sanitized.
#
# TESTS=PATTERN runs only the jobs whose name matches the shell pattern. JOBS=N: as if there were N processors.
set -uo pipefail

cd "$(dirname "$0")/.." || exit 1
MAKE=${MAKE:-make}
JOBS=${JOBS:-$(nproc)}
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
lanes=()
declare -A lane_room=([alone]=1 [game]=$(((JOBS + 1) / 2)) [browser]=1 [rest]=$JOBS) lane_nice=([alone]=0 [game]=0 [browser]=10 [rest]=10)
lane_of() { # job's name
	case $1 in
	api/doom | asan/api/bound | asan/api/critical | asan/api/verdict) echo alone ;;
	browser/*) echo browser ;;
	lint | model | mutants | web | client | asan/client | asan/fuzz | house/install | house/headers | unit/* | asan/unit/*) echo rest ;;
	asan/api/access | asan/api/c[ah]* | asan/api/contract | asan/api/diff | asan/api/e* | asan/api/query* | asan/api/symbols) echo rest ;;
	asan/api/totals | asan/api/vprof | asan/api/zones | asan/tool | *api/query_memory) echo rest ;;
	*) echo game ;;
	esac
}

job() { # name, command
	# shellcheck disable=SC2053 # TESTS is a pattern
	[[ $1 == ${TESTS:-*} ]] || return 0
	names+=("$1")
	commands+=("$2")
	lanes+=("$(lane_of "$1")")
}

node_job() { # name, files...
	local name=$1 file
	shift
	for file in "$@"; do
		[ -e "$file" ] || { job "$name" "echo 'not ok $file is missing'"; return; }
	done
	# for a single file node needs no second process
	[ $# = 1 ] || set -- --test "$@"
	job "$name" "${under-}node --test-reporter=./tests/reporter.mjs $*"
}

# The same on the sanitized build.
sanitized() { # command...
	local under='bash tests/sanitized.sh '
	"$@"
}

# npm's packages, when they are not those of the lock file.
node_modules() {
	local have=tests/node_modules/.package-lock.json
	[ -f "$have" ] && [ ! tests/package-lock.json -nt "$have" ] && return 0
	npm ci --prefix tests --no-audit --no-fund
}

# What the listed jobs need.
build() {
	local name more='' targets=(all stress benches)
	for name in "${names[@]}"; do
		case $name in
		unit/*) targets+=("$B/tests/$name") ;;
		asan/*) more=sanitized ;;
		mutants) targets+=("$B/libfprofd.a") ;;
		esac
	done
	echo "Building ..."
	"$MAKE" --no-print-directory -k -j"$((JOBS + 1))" B="$B" "${targets[@]}" $more >"$logs/build.log" 2>&1 && return 0
	grep -m 20 'error:\|\*\*\*' "$logs/build.log"
	tail -n 20 "$logs/build.log"
	echo "not ok build"
	echo "0 passed, 1 failed, 0 skipped"
	exit 1
}

# Under the sanitizers, and on the other build where it asks for them.
twice() { # name, file
	sanitized node_job "asan/$1" "$2"
	! grep -q FPROF_SANITIZED "$2" || node_job "$1" "$2"
}

list_jobs() {
	local file name
	# A Doom that has to wait draws fewer frames.
	node_job api/doom tests/api/doom.test.mjs
	# The long ones of a lane first.
	node_job stress/minute tests/stress/minute.test.mjs
	job lint 'bash tests/lint/lint.sh'
	job model 'bash tests/model/model.sh'
	sanitized node_job asan/stress tests/stress/stress.test.mjs
	for file in tests/api/*.test.mjs; do
		[ "$file" = tests/api/doom.test.mjs ] || twice "api/$(basename "$file" .test.mjs)" "$file"
	done
	# what a command leaves when it ends is no leak: looking for it would take longer than most commands
	job asan/tool 'LEAKS=0 bash tests/sanitized.sh bash tests/tool/run.sh'
	job asan/client 'bash tests/sanitized.sh bash tests/client/run.sh dlclose ends'
	job asan/fuzz 'bash tests/sanitized.sh bash tests/fuzz/replay.sh'
	for file in tests/browser/*.test.mjs; do
		node_job "browser/$(basename "$file" .test.mjs)" "$file"
	done
	for file in tests/stress/*.sh; do
		job "stress/$(basename "$file" .sh)" "bash $file"
	done
	for file in tests/*/run.sh; do
		case $file in tests/bench/* | tests/tool/*) continue ;; esac
		name=$(basename "$(dirname "$file")")
		job "$name" "bash $file"
	done
	for file in tests/house/*.sh; do
		job "house/$(basename "$file" .sh)" "bash $file"
	done
	node_job web tests/web/*.test.mjs
	for file in tests/unit/test_*.c tests/unit/test_*.cpp; do
		name=unit/$(basename "${file%.*}")
		job "asan/$name" "bash tests/sanitized.sh $B/asan/tests/$name"
		case $file in
		*/test_client_*) ;;
		*) grep -q __SANITIZE_ADDRESS__ "$file" || continue ;;
		esac
		job "$name" "$B/tests/$name"
	done
}

passed=0
failed=0
skipped=0
failures=()

fail() { # its line
	failed=$((failed + 1))
	failures+=("$1")
	echo "$1"
}

# The lines of a job's log, each with the job's name; counts them.
report() { # index, exit status
	local name=${names[$1]} status=$2 log before=$failed ran=0 line unsaid=''
	log=$logs/${name//\//.}.log
	while IFS= read -r line; do
		case $line in
		*'# SKIP'* | 'skip '*)
			skipped=$((skipped + 1))
			echo "$name: $line"
			;;
		'not ok '*)
			fail "$name: $line"
			unsaid=1
			;;
		'ok '*)
			passed=$((passed + 1))
			unsaid=''
			echo "$name: $line"
			;;
		*)
			# what a failure says first is its reason
			[ -z "$unsaid" ] || failures[-1]+=": ${line:0:300}"
			unsaid=''
			continue
			;;
		esac
		ran=$((ran + 1))
	done <"$log"
	if [ "$status" != 0 ] && [ "$failed" = "$before" ]; then
		fail "$name: not ok $name ended with status $status"
	elif [ "$ran" = 0 ]; then
		fail "$name: not ok $name ran no test"
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
		fail "${1%%: *}: not ok ${1#*: }"
		printf '%s\n' "$2" | sed 's/^/    /'
	fi
}

# Seconds of processors in what `times` wrote: those of the children.
cpu_seconds() { # file
	awk 'NR == 2 { split($1, user, "m"); split($2, sys, "m"); print int((user[1] + sys[1]) * 60 + user[2] + sys[2]) }' "$1"
}

declare -A running=() began=() took=() busy=()
reap() {
	local pid status=0 i name log
	wait -n -p pid "${!running[@]}" || status=$?
	i=${running[$pid]}
	report "$i" "$status"
	name=${names[i]}
	log=$logs/${name//\//.}
	took[$name]="$((SECONDS - began[$pid])) s, $(cpu_seconds "$log.times") of processors, ${lanes[i]}:"
	busy[${lanes[i]}]=$((busy[${lanes[i]}] - 1))
	unset "running[$pid]"
}

start() { # index
	local log=$logs/${names[$1]//\//.} lane=${lanes[$1]}
	# shellcheck disable=SC2016
	nice -n "${lane_nice[$lane]}" timeout --kill-after=10 1500 bash -c \
		'bash -c "$1"; status=$?; times >"$2.times"; exit $status' job "${commands[$1]}" "$log" >"$log.log" 2>&1 </dev/null &
	running[$!]=$1
	began[$!]=$SECONDS
	busy[$lane]=$((${busy[$lane]-0} + 1))
}

# All jobs of these lanes.
run_lanes() { # lanes...
	local lane i
	declare -A next=()
	while
		for lane in "$@"; do
			for ((i = ${next[$lane]-0}; i < ${#names[@]} && ${busy[$lane]-0} < lane_room[$lane]; i++)); do
				[ "${lanes[i]}" != "$lane" ] || start "$i"
			done
			next[$lane]=$i
		done
		[ ${#running[@]} -gt 0 ]
	do
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
list_jobs
build
built=$SECONDS
if ! node_modules >"$logs/npm.log" 2>&1; then
	cat "$logs/npm.log"
	echo "not ok npm ci"
	echo "0 passed, 1 failed, 0 skipped"
	exit 1
fi
others=$(pgrep -cx fprofd)
ours_before=$(ours | sort)
run_lanes alone
run_lanes game browser rest
check_leftovers
times >"$logs/times"
echo "took $SECONDS s and $(cpu_seconds "$logs/times") s of processors, $built s to build; the longest jobs:"
for name in "${!took[@]}"; do
	echo "${took[$name]} $name"
done | sort -rn >"$logs/took"
head -n 12 "$logs/took" | sed 's/^/    /'
[ "$failed" = 0 ] || printf 'failed: %s\n' "${failures[@]}"
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
