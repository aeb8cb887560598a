/* SPDX-License-Identifier: MIT */
/*
 * Compression is for those who ask for it. On loopback it saves nothing but the reader's buffers
 * (deflating at level 1 runs at some 200 MB/s, loopback at several GB/s), so answers above GZIP_MAX
 * go out as they are.
 *
 * An ETag is a hash of the body: what an ended session answers changes only by eviction, and the
 * hash sees that too.
 */
#include "respond.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <zlib.h>

#define GZIP_MIN 1024u
#define GZIP_MAX (1024u * 1024u)

static enum MHD_Result collect(void *userdata, enum MHD_ValueKind kind, const char *key,
			       const char *value)
{
	struct request_headers *h = userdata;

	(void)kind;
	if (!value)
		return MHD_YES;
	if (!strcasecmp(key, "Host")) {
		h->host = value;
		h->hosts++;
	} else if (!strcasecmp(key, "Origin")) {
		h->origin = value;
		h->origins++;
	} else if (!strcasecmp(key, "Authorization")) {
		h->authorization = value;
		h->authorizations++;
	} else if (!strcasecmp(key, "Sec-Fetch-Site")) {
		h->site = value;
	} else if (!strcasecmp(key, "Accept-Encoding")) {
		h->encoding = value;
	} else if (!strcasecmp(key, "If-None-Match")) {
		h->if_none_match = value;
	} else if (!strcasecmp(key, "Last-Event-ID")) {
		h->last_event = value;
	} else if (!strcasecmp(key, "Accept")) {
		h->accept = value;
	} else if (!strcasecmp(key, "Transfer-Encoding")) {
		h->body = true;
	} else if (!strcasecmp(key, "Content-Length")) {
		h->body = h->body || strcmp(value, "0") != 0;
		if (route_number(value, 0, INT64_MAX, &h->content) < 0)
			h->content = UINT64_MAX;
	}
	return MHD_YES;
}

void request_headers(struct MHD_Connection *connection, struct request_headers *ret_headers)
{
	*ret_headers = (struct request_headers){.content = UINT64_MAX};
	MHD_get_connection_values(connection, MHD_HEADER_KIND, collect, ret_headers);
}

bool respond_accepts_gzip(const char *encoding)
{
	const char *p = encoding ? strstr(encoding, "gzip") : NULL;
	const char *q;

	if (!p)
		return false;
	q = p + 4 + strspn(p + 4, " ");
	if (*q != ';')
		return true;
	q += 1 + strspn(q + 1, " ");
	return strncmp(q, "q=0", 3) != 0 || strspn(q + 3, ".0") < strcspn(q + 3, ", ");
}

/* Answers are made for one reader and packed fast; the page's files are read once and kept. */
enum { PACK_FAST = 1, PACK_SMALL = 9 };

/* Replaces the body by its deflated form where that is smaller. */
static bool compress_body(struct json *body, int level)
{
	z_stream z = {0};
	struct json out = {0};
	bool ok;

	if (deflateInit2(&z, level, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
		return false;
	out.at = malloc(body->count);
	z.next_in = (unsigned char *)body->at;
	z.avail_in = (unsigned)body->count;
	z.next_out = (unsigned char *)out.at;
	z.avail_out = (unsigned)body->count;
	ok = out.at && deflate(&z, Z_FINISH) == Z_STREAM_END;
	out.count = out.capacity = z.total_out;
	deflateEnd(&z);
	if (!ok) {
		free(out.at);
		return false;
	}
	json_free(body);
	*body = out;
	return true;
}

static uint64_t hash_bytes(const char *p, size_t n)
{
	uint64_t h = UINT64_C(0x9e3779b97f4a7c15) ^ n, word;

	for (; n >= 8; n -= 8, p += 8) {
		memcpy(&word, p, 8);
		h = (h ^ word) * UINT64_C(0xff51afd7ed558ccd);
		h ^= h >> 32;
	}
	word = 0;
	memcpy(&word, p, n);
	h = (h ^ word) * UINT64_C(0xff51afd7ed558ccd);
	return h ^ h >> 32;
}

/* Does If-None-Match hold the tag? Weak comparison: both sides are ours. */
static bool matches(const char *if_none_match, const char *etag)
{
	return if_none_match && (!strcmp(if_none_match, "*") || strstr(if_none_match, etag + 2));
}

/* RFC 6266: plain for what is ASCII, and in full. */
static void add_filename(struct MHD_Response *r, const char *name)
{
	char plain[128], full[3 * 128 + 1], text[600];
	size_t i, n = 0;

	for (i = 0; i < sizeof(plain) - 1 && name[i]; i++) {
		unsigned char c = (unsigned char)name[i];
		bool safe = isalnum(c) || c == '.' || c == '-' || c == '_';

		plain[i] = safe ? name[i] : '_';
		n += (size_t)snprintf(full + n, sizeof(full) - n, safe ? "%c" : "%%%02X", c);
	}
	plain[i] = '\0';
	full[n] = '\0';
	snprintf(text, sizeof(text), "attachment; filename=\"%s\"; filename*=UTF-8''%s", plain,
		 full);
	MHD_add_response_header(r, "Content-Disposition", text);
}

/* The response owns the file from here on. */
static struct MHD_Response *file_response(struct api_answer *a)
{
	struct MHD_Response *r;
	struct stat st;

	if (fstat(a->fd, &st) < 0)
		return NULL;
	r = MHD_create_response_from_fd64((uint64_t)st.st_size, a->fd);
	if (r)
		a->fd = 0;
	return r;
}

void respond_headers(struct MHD_Response *r, const struct api_answer *a, const char *etag)
{
	MHD_add_response_header(r, "X-Content-Type-Options", "nosniff");
	MHD_add_response_header(r, "Cross-Origin-Resource-Policy", "same-origin");
	MHD_add_response_header(r, "Referrer-Policy", "no-referrer");
	MHD_add_response_header(r, "X-Frame-Options", "DENY");
	MHD_add_response_header(r, "Content-Security-Policy",
				"default-src 'self'; frame-ancestors 'none'; base-uri 'none'");
	MHD_add_response_header(r, "Cache-Control", a->keeps ? "private, no-cache" : "no-store");
	if (a->type)
		MHD_add_response_header(r, "Content-Type", a->type);
	if (*etag)
		MHD_add_response_header(r, "ETag", etag);
	if (a->status == 401)
		MHD_add_response_header(r, "WWW-Authenticate", "Bearer realm=\"fprof\"");
	if (a->status == 405)
		MHD_add_response_header(r, "Allow", a->allow);
	if (a->status == 503)
		MHD_add_response_header(r, "Retry-After", "1");
	if (*a->lost)
		MHD_add_response_header(r, "Fprof-Lost", a->lost);
	if (*a->filename)
		add_filename(r, a->filename);
}

static struct MHD_Response *make_response(struct api_answer *a, bool gzip)
{
	struct MHD_Response *r;
	bool packed = false;

	if (a->fd > 0)
		return file_response(a);
	if (a->asset)
		json_bytes(&a->body, a->asset->data, a->asset->size);
	if (gzip && a->body.count > GZIP_MIN && a->body.count <= GZIP_MAX)
		packed = compress_body(&a->body, a->asset ? PACK_SMALL : PACK_FAST);
	r = MHD_create_response_from_buffer(a->body.count, a->body.at, MHD_RESPMEM_MUST_FREE);
	if (!r)
		return NULL;
	a->body = (struct json){0};
	MHD_add_response_header(r, "Vary", "Accept-Encoding");
	if (packed)
		MHD_add_response_header(r, "Content-Encoding", "gzip");
	return r;
}

enum MHD_Result respond(struct MHD_Connection *c, const struct request_headers *h,
			struct api_answer *a)
{
	struct MHD_Response *r;
	enum MHD_Result result;
	char etag[40] = "";

	if (a->body.failed)
		api_fail_memory(a, "The answer does not fit into memory");
	if (a->keeps && a->asset)
		snprintf(etag, sizeof(etag), "%s", a->asset->etag);
	else if (a->keeps)
		snprintf(etag, sizeof(etag), "W/\"%016llx\"",
			 (unsigned long long)hash_bytes(a->body.at, a->body.count));
	if (*etag && matches(h->if_none_match, etag)) {
		json_free(&a->body);
		a->asset = NULL;
		a->status = 304;
	}
	r = make_response(a, respond_accepts_gzip(h->encoding));
	if (!r)
		return MHD_NO;
	respond_headers(r, a, etag);
	result = MHD_queue_response(c, a->status, r);
	MHD_destroy_response(r);
	return result;
}
