// SPDX-License-Identifier: MIT
// fprof-symbols, which reads the files of games: what their bytes are in, and that no file does it any harm.

import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';

import { BUILD, ROOT, World } from './world.mjs';

const world = new World();
const MUTANTS = 48;
let files;

// It can open nothing when it ends: neither can a leak detector then.
const env = { ...process.env, ASAN_OPTIONS: `${process.env.ASAN_OPTIONS ?? ''}:detect_leaks=0` };
const look = (file, ...offsets) => spawnSync(path.join(BUILD, 'fprof-symbols'), [file, ...offsets.map(String)], { encoding: 'utf8', env });

/** Where a function of a file is, by nm: the files of these tests have their code where it is in memory. */
function place(file, symbol) {
	const line = execFileSync('nm', [file], { encoding: 'utf8' }).split('\n').find((one) => one.endsWith(` ${symbol}`));
	return parseInt(line, 16);
}

before(async () => {
	const shares = await world.compile(path.join(ROOT, 'tests/api/shares.c'));
	const engine = await world.compile(path.join(ROOT, 'tests/api/engine.cpp'));
	const stripped = path.join(world.dir, 'stripped');
	execFileSync('strip', ['-o', stripped, shares]);
	files = { shares, engine, stripped };
});
after(() => world.close());

test('a function is known from its first byte to its last', () => {
	const lo = place(files.shares, 'heavy_part');
	const { stdout, status } = look(files.shares, lo - 1, lo, lo + 5);
	const [head, outside, first, inside] = stdout.split('\n');
	assert.equal(status, 0);
	assert.match(head, /^build id [0-9a-f]{40}, symbols: symtab$/);
	assert.ok(!outside.endsWith(' heavy_part'), outside);
	assert.ok(first.endsWith(' heavy_part') && inside.endsWith(' heavy_part'), stdout);
	assert.equal(first.split(' ')[1].split('-')[0], `0x${lo.toString(16)}`);
	const end = Number(first.split(' ')[1].split('-')[1]);
	assert.ok(look(files.shares, end - 1).stdout.endsWith(' heavy_part\n'));
	assert.ok(!look(files.shares, end).stdout.endsWith(' heavy_part\n'));
});

test('names of C++ are demangled', () => {
	const lo = place(files.engine, '_ZN6engine8RendererINS_5QuickEE4drawEm');
	assert.match(look(files.engine, lo).stdout, / engine::Renderer<engine::Quick>::draw\(unsigned long\)$/m);
});

test('in a stripped file a function has no name, and is one all the same', () => {
	const lo = place(files.shares, 'heavy_part');
	const [, want] = look(files.shares, lo).stdout.split('\n')[1].split(' ');
	const [head, one, same] = look(files.stripped, lo, lo + 9).stdout.split('\n');
	assert.match(head, /symbols: (none|dynsym)$/);
	assert.deepEqual([one.split(' ')[1], one.split(' ')[2]], [want, '?']);
	assert.deepEqual(same.split(' ').slice(1), [want, '?']);
});

test('what is no ELF file is said to be none', () => {
	for (const bytes of ['', '\x7fELF', '#!/bin/sh\n', readFileSync(files.shares).subarray(0, 100)]) {
		const file = path.join(world.dir, 'none');
		writeFileSync(file, bytes);
		const { status, signal, stdout } = look(file, 1000);
		assert.equal(signal, null);
		assert.ok(status === 1 || / \?$/m.test(stdout), `${status} ${stdout}`);
	}
});

test('headers, sections and names that are nonsense end in an answer or an error', () => {
	const whole = readFileSync(files.engine);
	const headers = Number(whole.readBigUInt64LE(0x28));
	const places = [[16, 64], [64, 64 + 56 * whole.readUInt16LE(0x38)], [headers, whole.length]];
	let seed = 1;
	const random = (below) => {
		seed = (Math.imul(seed, 1103515245) + 12345) >>> 0;
		return Math.floor(seed / 2 ** 32 * below);
	};
	const answers = new Set();
	for (let i = 0; i < MUTANTS; i++) {
		const bytes = Buffer.from(whole);
		for (let k = 0; k < 1 + i % 8; k++) {
			const [from, to] = places[random(places.length)];
			bytes[from + random(to - from)] = [0, 0xff, 0x7f, random(256)][random(4)];
		}
		const file = path.join(world.dir, 'mutant');
		writeFileSync(file, bytes);
		const { status, signal, stderr } = look(file, 0x1200, 0x1400);
		assert.ok(signal === null && (status === 0 || status === 1), `mutant ${i}: ${signal ?? status} ${stderr}`);
		answers.add(status);
	}
	assert.ok(answers.has(0), 'some of them can still be read');
});
