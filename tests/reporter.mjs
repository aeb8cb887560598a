// SPDX-License-Identifier: MIT
// Prints node's test events the way tests/run.sh counts them: one line a test, "ok NAME", "not ok NAME" or
// "skip NAME: reason"; what went wrong follows as comments.

const SUMMARY = /^(tests|suites|pass|fail|cancelled|skipped|todo|duration_ms) [\d.]+$/;
const comment = (text) => text.split('\n').map((line) => `# ${line}\n`).join('');

function* one(verdict, { name, details, skip, todo }) {
	// Older node reports each file as a test around those in it.
	if (details?.type === 'suite' || /\.mjs$/.test(name))
		if (verdict === 'ok')
			return;
	if (skip !== undefined) {
		yield `skip ${name}: ${skip === true ? 'no reason given' : skip}\n`;
		return;
	}
	yield `${verdict} ${name}${todo === undefined ? '' : ' (todo)'}\n`;
	if (verdict !== 'ok') {
		const error = details?.error?.cause ?? details?.error;
		yield comment(String(error?.stack ?? error));
	}
}

export default async function* report(events) {
	for await (const { type, data } of events) {
		if (type === 'test:pass')
			yield* one('ok', data);
		else if (type === 'test:fail')
			yield* one('not ok', data);
		else if (type === 'test:stderr' || type === 'test:stdout' || (type === 'test:diagnostic' && !SUMMARY.test(data.message)))
			yield comment(data.message.trimEnd());
	}
}
