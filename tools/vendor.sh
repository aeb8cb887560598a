#!/bin/sh
# SPDX-License-Identifier: MIT
# Fetches the one library that the page ships, uPlot, as npm has it, into web/vendor: needed only to move to another
# version. Its script is made a module by one line at its end.
# usage: sh tools/vendor.sh
set -eu

version=1.6.32
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
into=$(cd "$(dirname "$0")/.." && pwd)/web/vendor
cd "$work"
npm pack --silent "uplot@$version" >/dev/null
tar xzf "uplot-$version.tgz"
mkdir -p "$into"
{
	echo '// SPDX-License-Identifier: MIT'
	cat package/dist/uPlot.iife.min.js
	printf '\nexport default uPlot;\n'
} >"$into/uPlot.js"
{
	echo '/* SPDX-License-Identifier: MIT */'
	cat package/dist/uPlot.min.css
} >"$into/uPlot.css"
{
	echo '// SPDX-License-Identifier: MIT'
	cat package/dist/uPlot.d.ts
} >"$into/uPlot.d.ts"
cp package/LICENSE "$into/LICENSE.uPlot"
