// SPDX-License-Identifier: MIT
// Holds values against the schemas of docs/openapi.yaml: the part of JSON Schema that is used there. A keyword that
// this does not know is an error, so that no schema is weaker than it looks.

import { readFileSync } from 'node:fs';
import path from 'node:path';

import YAML from 'yaml';

import { ROOT } from './world.mjs';

export const document = YAML.parse(readFileSync(path.join(ROOT, 'docs/openapi.yaml'), 'utf8'));

/** What a $ref stands for. @param {string} ref */
export function resolve(ref) {
	if (!ref.startsWith('#/'))
		throw new Error(`only references within the document: ${ref}`);
	const found = ref.slice(2).split('/').reduce((at, key) => at?.[key], document);
	if (found === undefined)
		throw new Error(`nothing is at ${ref}`);
	return found;
}

const TYPES = {
	null: (value) => value === null,
	boolean: (value) => typeof value === 'boolean',
	string: (value) => typeof value === 'string',
	number: (value) => typeof value === 'number' && Number.isFinite(value),
	integer: (value) => Number.isInteger(value),
	array: (value) => Array.isArray(value),
	object: (value) => value !== null && typeof value === 'object' && !Array.isArray(value),
};

const KEYWORDS = {
	$ref: (ref, value, at, errors) => check(resolve(ref), value, at, errors),
	type: (type, value, at, errors) => {
		if (![type].flat().some((one) => TYPES[one](value)))
			errors.push(`${at}: ${JSON.stringify(value)} is no ${[type].flat().join(' or ')}`);
	},
	enum: (allowed, value, at, errors) => {
		if (!allowed.includes(value))
			errors.push(`${at}: ${JSON.stringify(value)} is none of ${allowed.join(', ')}`);
	},
	minimum: (least, value, at, errors) => {
		if (typeof value === 'number' && value < least)
			errors.push(`${at}: ${value} is less than ${least}`);
	},
	maximum: (most, value, at, errors) => {
		if (typeof value === 'number' && value > most)
			errors.push(`${at}: ${value} is more than ${most}`);
	},
	pattern: (pattern, value, at, errors) => {
		if (typeof value === 'string' && !new RegExp(pattern, 'u').test(value))
			errors.push(`${at}: ${JSON.stringify(value)} does not match ${pattern}`);
	},
	required: (names, value, at, errors) => {
		for (const name of TYPES.object(value) ? names : [])
			if (!Object.hasOwn(value, name))
				errors.push(`${at}: ${name} is missing`);
	},
	properties: (properties, value, at, errors) => {
		for (const [name, schema] of TYPES.object(value) ? Object.entries(properties) : [])
			if (Object.hasOwn(value, name))
				check(schema, value[name], `${at}.${name}`, errors);
	},
	additionalProperties: (more, value, at, errors, schema) => {
		for (const [name, member] of TYPES.object(value) ? Object.entries(value) : []) {
			if (Object.hasOwn(schema.properties ?? {}, name))
				continue;
			if (more === false)
				errors.push(`${at}: ${name} is not in the schema`);
			else
				check(more, member, `${at}.${name}`, errors);
		}
	},
	items: (schema, value, at, errors) => {
		for (const [index, item] of TYPES.array(value) ? value.entries() : [])
			check(schema, item, `${at}[${index}]`, errors);
	},
	minItems: (least, value, at, errors) => {
		if (TYPES.array(value) && value.length < least)
			errors.push(`${at}: ${value.length} items, fewer than ${least}`);
	},
	maxItems: (most, value, at, errors) => {
		if (TYPES.array(value) && value.length > most)
			errors.push(`${at}: ${value.length} items, more than ${most}`);
	},
	description: () => {},
	default: () => {},
};

function check(schema, value, at, errors) {
	for (const [keyword, argument] of Object.entries(schema)) {
		if (!Object.hasOwn(KEYWORDS, keyword))
			throw new Error(`${at}: the schema has ${keyword}, which is not checked`);
		KEYWORDS[keyword](argument, value, at, errors, schema);
	}
}

/** What is wrong with a value, at most 20 lines. @param {string} name of a schema */
export function problems(name, value) {
	const errors = [];
	check(document.components.schemas[name], value, name, errors);
	return errors.slice(0, 20);
}

/** The schema of an operation's answer: {type, schema}, by status. @param {string} route as documented */
export function answerOf(route, status, method = 'get') {
	const responses = document.paths[route][method].responses;
	let response = responses[status] ?? responses.default;
	if (response.$ref)
		response = resolve(response.$ref);
	const [[type, { schema }]] = Object.entries(response.content);
	return { type, schema };
}

/** What is wrong with an answer to a documented route. */
export function answerProblems(route, answer, method = 'get') {
	const { type, schema } = answerOf(route, answer.status, method);
	const errors = [];
	const given = (answer.headers['content-type'] ?? '').split(';')[0];
	if (given !== type)
		errors.push(`${route}: content type ${given}, documented ${type}`);
	check(schema, type.endsWith('json') ? JSON.parse(answer.text) : answer.text, route, errors);
	return errors.slice(0, 20);
}
