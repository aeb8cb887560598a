// SPDX-License-Identifier: MIT
/*
 * A reader of the HTTP API by libcurl. Without --url the daemon is asked over http.sock, which lies
 * in the same directory as the socket that games connect to. Sockets are looked for where the
 * client library looks, in the same order: at $FPROF_SOCKET and nowhere else where that is set; a
 * socket that a dead daemon left is passed over. One thread.
 */
#include "api.h"

#include <curl/curl.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define ANSWER_MAX     (256u << 20) /* bytes of one answer */
#define HTTP_NAME      "/http.sock"
#define PLACES	       2
#define PATH_SIZE      512
#define ASK_MS	       60000L
#define ASK_BRIEFLY_MS 300L
#define SAME_BEGIN     10 /* letters */

struct api {
	CURL *curl;
	struct curl_slist *headers;
	char directory[PATH_SIZE];
	char *url; /* no trailing slash */
	long timeout_ms;
	char error[CURL_ERROR_SIZE];
};

struct answer {
	char *data;
	size_t size;
};

/* 0: somebody accepts connections at path; else a negative errno. type: SOCK_STREAM, ... */
static int try_socket(const char *path, int type)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	size_t length = strlen(path);
	int fd, r;

	if (length >= sizeof(address.sun_path))
		return -ENAMETOOLONG;
	memcpy(address.sun_path, path, length);
	fd = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	r = connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0 ? -errno : 0;
	close(fd);
	return r == -EAGAIN ? 0 : r; /* its queue is full: somebody is there */
}

/* The sockets that a game tries, in order; "" is none. */
static void list_sockets(char places[PLACES][PATH_SIZE])
{
	const char *given = getenv("FPROF_SOCKET"), *runtime = getenv("XDG_RUNTIME_DIR");

	memset(places, 0, PLACES * PATH_SIZE);
	if (given && given[0]) {
		snprintf(places[0], PATH_SIZE, "%s", given);
		return;
	}
	if (runtime && runtime[0])
		snprintf(places[0], PATH_SIZE, "%s/fprofd/fprofd.sock", runtime);
	snprintf(places[1], PATH_SIZE, "/run/fprofd/fprofd.sock");
}

static void directory_of(const char *path, char *ret_directory)
{
	const char *slash = strrchr(path, '/');

	if (!slash)
		snprintf(ret_directory, PATH_SIZE, ".");
	else
		snprintf(ret_directory, PATH_SIZE, "%.*s", (int)(slash - path), path);
}

/* 0 where a daemon answers HTTP beside the socket of games at place. */
static int try_http(const char *place)
{
	char directory[PATH_SIZE], path[PATH_SIZE + sizeof(HTTP_NAME)];

	directory_of(place, directory);
	snprintf(path, sizeof(path), "%s" HTTP_NAME, directory);
	return try_socket(path, SOCK_STREAM);
}

/* loud: says where nobody was found. */
static int find_directory(struct api *api, bool loud)
{
	char places[PLACES][PATH_SIZE];
	int errors[PLACES] = {0}, i;

	list_sockets(places);
	for (i = 0; i < PLACES; i++) {
		if (places[i][0] == '\0')
			continue;
		errors[i] = try_http(places[i]);
		directory_of(places[i], api->directory);
		if (errors[i] == 0)
			return TOOL_OK;
	}
	for (i = 0; i < PLACES && loud; i++) {
		if (errors[i] == 0)
			continue;
		directory_of(places[i], api->directory);
		tool_say("no daemon at %s" HTTP_NAME ": %s", api->directory, strerror(-errors[i]));
	}
	if (loud)
		tool_say("start fprofd, or name a daemon by --url or $FPROF_SOCKET");
	return TOOL_UNAVAILABLE;
}

bool api_daemon_waits(void)
{
	char places[PLACES][PATH_SIZE];
	int i;

	list_sockets(places);
	for (i = 0; i < PLACES; i++) {
		if (places[i][0] && try_socket(places[i], SOCK_SEQPACKET) == 0)
			return true;
	}
	return false;
}

/* The first word of a file, malloc()ed. */
static int read_token(const char *path, char **ret_token)
{
	char line[1024];
	FILE *file = fopen(path, "re");
	bool read;

	if (!file) {
		tool_say("token file %s: %s", path, strerror(errno));
		return TOOL_CONFIG;
	}
	read = fgets(line, sizeof(line), file) != NULL;
	fclose(file);
	line[read ? strcspn(line, " \t\r\n") : 0] = '\0';
	if (line[0] == '\0') {
		tool_say("token file %s holds no token", path);
		return TOOL_CONFIG;
	}
	*ret_token = strdup(line);
	return *ret_token ? TOOL_OK : TOOL_FAILED;
}

static int set_token(struct api *api, const struct tool_options *options)
{
	_cleanup_free_ char *from_file = NULL, *header = NULL;
	const char *token = getenv("FPROF_TOKEN");

	if (options->token_file) {
		int r = read_token(options->token_file, &from_file);

		if (r != TOOL_OK)
			return r;
		token = from_file;
	}
	if (!token || token[0] == '\0')
		return TOOL_OK;
	if (asprintf(&header, "Authorization: Bearer %s", token) < 0)
		return TOOL_FAILED;
	api->headers = curl_slist_append(NULL, header);
	return api->headers ? TOOL_OK : TOOL_FAILED;
}

static int set_url(struct api *api, const char *url)
{
	size_t length = strlen(url);

	if (strncmp(url, "http://", 7) != 0 && strncmp(url, "https://", 8) != 0) {
		tool_say("'%s' is no http:// or https:// address", url);
		return TOOL_CONFIG;
	}
	while (length && url[length - 1] == '/')
		length--;
	api->url = strndup(url, length);
	return api->url ? TOOL_OK : TOOL_FAILED;
}

static struct api *api_make(long timeout_ms)
{
	struct api *api = calloc(1, sizeof(*api));

	if (!api)
		return NULL;
	api->timeout_ms = timeout_ms;
	if (curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK)
		api->curl = curl_easy_init();
	if (api->curl)
		return api;
	free(api);
	return NULL;
}

int api_new(const struct tool_options *options, struct api **ret_api)
{
	_cleanup_api_ struct api *api = api_make(ASK_MS);
	int r;

	if (!api)
		return TOOL_FAILED;
	r = options->url ? set_url(api, options->url) : find_directory(api, true);
	if (r == TOOL_OK)
		r = set_token(api, options);
	if (r != TOOL_OK)
		return r;
	*ret_api = api;
	api = NULL;
	return TOOL_OK;
}

struct api *api_new_brief(void)
{
	_cleanup_api_ struct api *api = api_make(ASK_BRIEFLY_MS);
	struct api *found;

	if (!api || find_directory(api, false) != TOOL_OK)
		return NULL;
	found = api;
	api = NULL;
	return found;
}

void api_free(struct api *api)
{
	if (!api)
		return;
	if (api->curl)
		curl_easy_cleanup(api->curl);
	curl_slist_free_all(api->headers);
	free(api->url);
	free(api);
}

void api_freep(struct api **api)
{
	api_free(*api);
}

void api_json_freep(json_t **json)
{
	json_decref(*json);
}

const char *api_directory(const struct api *api)
{
	return api->directory;
}

const char *api_url(const struct api *api)
{
	return api->url ? api->url : "";
}

char *api_escape(const char *text)
{
	static const char unreserved[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
					 "0123456789-._~";
	char *escaped = malloc(3 * strlen(text) + 1), *out = escaped;

	if (!escaped)
		return NULL;
	for (; *text; text++) {
		if (strchr(unreserved, *text))
			*out++ = *text;
		else
			out += sprintf(out, "%%%02X", (unsigned char)*text);
	}
	*out = '\0';
	return escaped;
}

char *api_join(const json_t *texts, const char *between)
{
	char *joined = NULL;
	size_t size, i;
	FILE *f = open_memstream(&joined, &size);

	if (!f)
		return NULL;
	for (i = 0; i < json_array_size(texts); i++) {
		const char *text = json_string_value(json_array_get(texts, i));

		fprintf(f, "%s%s", i ? between : "", text ? text : "-");
	}
	if (fclose(f) == 0)
		return joined;
	free(joined);
	return NULL;
}

static size_t collect(char *data, size_t one, size_t count, void *userdata)
{
	struct answer *answer = userdata;
	size_t size = one * count;
	char *grown;

	if (size > ANSWER_MAX - answer->size)
		return 0;
	grown = realloc(answer->data, answer->size + size + 1);
	if (!grown)
		return 0;
	memcpy(grown + answer->size, data, size);
	answer->data = grown;
	answer->size += size;
	grown[answer->size] = '\0';
	return size;
}

/* What all requests have in common. */
static int prepare(struct api *api, const char *path, struct answer *answer)
{
	_cleanup_free_ char *address = NULL, *socket_path = NULL;

	if (asprintf(&address, "%s%s", api->url ? api->url : "http://localhost", path) < 0)
		return -ENOMEM;
	if (!api->url && asprintf(&socket_path, "%s" HTTP_NAME, api->directory) < 0)
		return -ENOMEM;
	curl_easy_reset(api->curl);
	curl_easy_setopt(api->curl, CURLOPT_URL, address);
	curl_easy_setopt(api->curl, CURLOPT_UNIX_SOCKET_PATH, socket_path);
	curl_easy_setopt(api->curl, CURLOPT_NOPROXY, "*");
	curl_easy_setopt(api->curl, CURLOPT_HTTPHEADER, api->headers);
	curl_easy_setopt(api->curl, CURLOPT_USERAGENT, "fprof/" FPROF_VERSION);
	curl_easy_setopt(api->curl, CURLOPT_ACCEPT_ENCODING, "");
	curl_easy_setopt(api->curl, CURLOPT_CONNECTTIMEOUT, 5L);
	curl_easy_setopt(api->curl, CURLOPT_TIMEOUT_MS, api->timeout_ms);
	curl_easy_setopt(api->curl, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(api->curl, CURLOPT_ERRORBUFFER, api->error);
	curl_easy_setopt(api->curl, CURLOPT_WRITEFUNCTION, collect);
	curl_easy_setopt(api->curl, CURLOPT_WRITEDATA, answer);
	api->error[0] = '\0';
	return 0;
}

/* Runs what was prepared: the HTTP status (0: no answer), and the answer's JSON or NULL. */
static long perform(struct api *api, struct answer *answer, json_t **ret_json)
{
	long status = 0;

	*ret_json = NULL;
	if (curl_easy_perform(api->curl) == CURLE_OK) {
		curl_easy_getinfo(api->curl, CURLINFO_RESPONSE_CODE, &status);
		if (answer->data)
			*ret_json = json_loadb(answer->data, answer->size, JSON_ALLOW_NUL, NULL);
	}
	free(answer->data);
	return status;
}

/* One request: the HTTP status, 0 without an answer; -1: no memory. */
static long request(struct api *api, const char *method, const char *path, const json_t *body,
		    json_t **ret_json)
{
	_cleanup_free_ char *text = body ? json_dumps(body, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;
	struct curl_slist *headers = NULL, *at;
	struct answer answer = {0};
	long status;

	*ret_json = NULL;
	if ((body && !text) || prepare(api, path, &answer) < 0)
		return -1;
	for (at = api->headers; at; at = at->next)
		headers = curl_slist_append(headers, at->data);
	if (text) {
		headers = curl_slist_append(headers, "Content-Type: application/json");
		curl_easy_setopt(api->curl, CURLOPT_POSTFIELDS, text);
	}
	curl_easy_setopt(api->curl, CURLOPT_HTTPHEADER, headers);
	curl_easy_setopt(api->curl, CURLOPT_CUSTOMREQUEST, method);
	status = perform(api, &answer, ret_json);
	curl_slist_free_all(headers);
	return status;
}

int api_get_quiet(struct api *api, const char *path, json_t **ret_json)
{
	_cleanup_json_ json_t *json = NULL;
	long status = request(api, "GET", path, NULL, &json);

	if (status <= 0)
		return TOOL_UNAVAILABLE;
	if (status != 200 || !json)
		return TOOL_FAILED;
	*ret_json = json_incref(json);
	return TOOL_OK;
}

static const char *api_text(const json_t *json, const char *key)
{
	const char *text = json_string_value(json_object_get(json, key));

	return text ? text : "";
}

/* What would have been right, or what is near to what is not known. */
static void say_allowed(const json_t *problem)
{
	bool unknown = strncmp(api_text(problem, "type"), "/problems/unknown-", 18) == 0;
	const json_t *allowed = json_object_get(problem, "allowed");
	_cleanup_free_ char *text = api_join(allowed, ", ");

	if (text && text[0])
		tool_say("%s%s", unknown ? "there is " : "allowed: ", text);
}

/* The detail says it all where it begins as the title does. */
static void say_problem(const json_t *problem)
{
	const char *title = api_text(problem, "title"), *detail = api_text(problem, "detail");
	bool same = strncmp(title, detail, SAME_BEGIN) == 0;

	if (!title[0] || same)
		tool_say("%s", detail[0] ? detail : title);
	else
		tool_say("%s%s%s", title, detail[0] ? ": " : "", detail);
}

/* Was it asked wrongly, rather than refused? */
static bool is_usage(const json_t *problem, long status)
{
	return status == 400 || strcmp(api_text(problem, "type"), "/problems/sql-not-allowed") == 0;
}

/* What an answer comes to; a problem, or that there was none, is said. good: it is what was asked
 * for. */
static int judge(const struct api *api, const char *path, bool good, const json_t *json,
		 long status)
{
	if (good)
		return TOOL_OK;
	if (status == 0) {
		tool_say("the daemon does not answer: %s",
			 api->error[0] ? api->error : "the connection failed");
		return TOOL_UNAVAILABLE;
	}
	if (status < 0)
		return tool_no_memory();
	if (!json)
		tool_say("%s: HTTP status %ld and no JSON", path, status);
	else
		say_problem(json);
	say_allowed(json);
	return is_usage(json, status) ? TOOL_USAGE : TOOL_FAILED;
}

/* What the file that came, or was made, does not hold. */
static void say_lost(const struct api *api)
{
	struct curl_header *lost;

	if (curl_easy_header(api->curl, "Fprof-Lost", 0, CURLH_HEADER, -1, &lost) == CURLHE_OK)
		tool_say("it does not hold all: %s", lost->value);
}

int api_send(struct api *api, const char *method, const char *path, const json_t *body,
	     json_t **ret_json)
{
	_cleanup_json_ json_t *json = NULL;
	long status = request(api, method, path, body, &json);
	/* the regression gate's verdict has a status of its own */
	bool good = json && (status / 100 == 2 || json_object_get(json, "verdict"));
	int r = judge(api, path, good, json, status);

	if (r == TOOL_OK)
		say_lost(api);
	if (r == TOOL_OK && ret_json)
		*ret_json = json_incref(json);
	return r;
}

/* A file of any size may take any time, but not stand still. */
static void patient(struct api *api)
{
	curl_easy_setopt(api->curl, CURLOPT_TIMEOUT_MS, 0L);
	curl_easy_setopt(api->curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
	curl_easy_setopt(api->curl, CURLOPT_LOW_SPEED_TIME, 600L);
}

/* A download: to the file, but for problems, which are kept. */
struct download {
	struct api *api;
	FILE *to;
	struct answer answer;
};

static size_t save(char *data, size_t one, size_t count, void *userdata)
{
	struct download *d = userdata;
	long status = 0;

	curl_easy_getinfo(d->api->curl, CURLINFO_RESPONSE_CODE, &status);
	if (status != 200)
		return collect(data, one, count, &d->answer);
	return fwrite(data, 1, one * count, d->to);
}

int api_download(struct api *api, const char *path, FILE *to)
{
	struct download d = {.api = api, .to = to};
	_cleanup_json_ json_t *json = NULL;
	long status;

	if (prepare(api, path, &d.answer) < 0)
		return TOOL_FAILED;
	patient(api);
	curl_easy_setopt(api->curl, CURLOPT_WRITEFUNCTION, save);
	curl_easy_setopt(api->curl, CURLOPT_WRITEDATA, &d);
	status = perform(api, &d.answer, &json);
	if (ferror(to) || (status == 200 && fflush(to) != 0)) {
		tool_say("writing failed: %s", strerror(errno));
		return TOOL_FAILED;
	}
	if (status == 200)
		say_lost(api);
	return judge(api, path, status == 200, json, status);
}

int api_upload(struct api *api, const char *path, FILE *from, json_t **ret_json)
{
	_cleanup_json_ json_t *json = NULL;
	struct answer answer = {0};
	struct stat st;
	long status;
	int r;

	if (fstat(fileno(from), &st) < 0 || prepare(api, path, &answer) < 0)
		return TOOL_FAILED;
	patient(api);
	curl_easy_setopt(api->curl, CURLOPT_POST, 1L);
	curl_easy_setopt(api->curl, CURLOPT_READDATA, from);
	curl_easy_setopt(api->curl, CURLOPT_POSTFIELDSIZE_LARGE,
			 (curl_off_t)(S_ISREG(st.st_mode) ? st.st_size : -1));
	status = perform(api, &answer, &json);
	r = judge(api, path, status / 100 == 2 && json, json, status);
	if (r == TOOL_OK)
		*ret_json = json_incref(json);
	return r;
}
