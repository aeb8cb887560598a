// SPDX-License-Identifier: MIT
// Is docs/openapi.yaml sound? Its references resolve, every operation says what it answers, every path parameter
// is declared and used, operation ids are unique. Prints each fault; exits 1 when there is one. Whether it tells
// the truth about the routes is a test of the daemon.

import { readFileSync } from 'node:fs';
import { parseDocument } from '../node_modules/yaml/dist/index.js';

const METHODS = ['get', 'put', 'post', 'delete', 'patch', 'head', 'options'];
const file = new URL('../../docs/openapi.yaml', import.meta.url);
const document = parseDocument(readFileSync(file, 'utf8'), { uniqueKeys: true });
const faults = document.errors.map((error) => error.message);
const api = document.toJS();

const fault = (where, what) => faults.push(`${where}: ${what}`);

function resolve(reference) {
	if (!reference.startsWith('#/'))
		return undefined;
	return reference.slice(2).split('/').reduce((at, key) => at?.[key.replace(/~1/g, '/').replace(/~0/g, '~')], api);
}

const used = new Set();
function walk(node, where) {
	if (node === null || typeof node !== 'object')
		return;
	if (typeof node.$ref === 'string') {
		used.add(node.$ref);
		if (resolve(node.$ref) === undefined)
			fault(where, `${node.$ref} leads nowhere`);
	}
	for (const [key, value] of Object.entries(node))
		walk(value, `${where}/${key}`);
}

const target = (node) => (node?.$ref ? resolve(node.$ref) : node);

function operation(path, method, op, shared, ids) {
	const where = `${method.toUpperCase()} ${path}`;
	if (!op.summary && !op.description)
		fault(where, 'says nothing of itself');
	if (!op.operationId)
		fault(where, 'has no operationId');
	else if (ids.has(op.operationId))
		fault(where, `operationId ${op.operationId} is taken`);
	ids.add(op.operationId);
	const parameters = [...shared, ...(op.parameters ?? [])].map(target);
	const inPath = parameters.filter((one) => one?.in === 'path').map((one) => one.name);
	const named = [...path.matchAll(/\{([^}]+)\}/g)].map((match) => match[1]);
	for (const name of named)
		if (!inPath.includes(name))
			fault(where, `{${name}} is not declared`);
	for (const name of inPath)
		if (!named.includes(name))
			fault(where, `parameter ${name} is not in the path`);
	for (const one of parameters)
		if (!one?.schema)
			fault(where, `parameter ${one?.name} has no schema`);
	const responses = Object.entries(op.responses ?? {});
	if (!responses.some(([status]) => /^[23]/.test(status)))
		fault(where, 'has no answer that is no error');
	for (const [status, response] of responses) {
		const answer = target(response);
		if (!answer?.description)
			fault(where, `answer ${status} has no description`);
		for (const [type, media] of Object.entries(answer?.content ?? {}))
			if (!media.schema)
				fault(where, `answer ${status} ${type} has no schema`);
	}
}

if (!/^3\.[01]\./.test(api?.openapi ?? ''))
	fault('openapi', 'is no 3.0 or 3.1 description');
if (!api?.info?.title || !api?.info?.version)
	fault('info', 'lacks title or version');
const ids = new Set();
for (const [path, item] of Object.entries(api?.paths ?? {}))
	for (const method of METHODS)
		if (item[method])
			operation(path, method, item[method], item.parameters ?? [], ids);
if (ids.size === 0)
	fault('paths', 'there are none');
walk(api, '#');
for (const [kind, entries] of Object.entries(api?.components ?? {}))
	if (kind !== 'securitySchemes')
		for (const name of Object.keys(entries))
			if (!used.has(`#/components/${kind}/${name}`))
				fault(`components/${kind}/${name}`, 'is used nowhere');
for (const line of faults)
	console.log(line);
process.exitCode = faults.length ? 1 : 0;
