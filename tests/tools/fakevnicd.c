/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A vnicd that knows only its script, for tests of the CLI: each request is appended to a log and answered
 * with the next replies of the script for its method. Serves one client at a time and decides nothing.
 *
 *	fakevnicd SOCKET SCRIPT LOG
 *
 * A line of the script is METHOD and a reply (JSON), or METHOD and a word: !sleep MS waits; !close hangs up;
 * !exit hangs up and ends, the socket gone. After a reply with "continues":true comes the method's next line.
 */
#include <err.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define LINES_MAX 64
#define METHOD    "\"method\":\"org.vnicd."

enum verdict { ANSWERED, HANG_UP, EXIT };

struct script {
	char *line[LINES_MAX]; /* NULL once it was used */
	size_t n;
};

static void read_script(const char *path, struct script *s)
{
	FILE *in = fopen(path, "re");
	size_t room = 0;
	ssize_t len;

	if (!in)
		err(1, "%s", path);
	while (s->n < LINES_MAX && (len = getline(&s->line[s->n], &room, in)) > 0) {
		s->line[s->n][strcspn(s->line[s->n], "\n")] = '\0';
		s->n++;
		room = 0;
	}
	fclose(in);
}

static int listen_at(const char *path)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || strlen(path) >= sizeof(at.sun_path))
		errx(1, "no socket at %s", path);
	strcpy(at.sun_path, path);
	if (bind(fd, (struct sockaddr *)&at, sizeof(at)) || listen(fd, 5))
		err(1, "%s", path);
	return fd;
}

/* Requests end with NUL; the client never sends a second one before its answer. */
static bool read_request(FILE *client, char **buf, size_t *room)
{
	return getdelim(buf, room, '\0', client) > 0;
}

static void log_request(const char *path, const char *request)
{
	FILE *out = fopen(path, "ae");

	if (!out)
		err(1, "%s", path);
	fprintf(out, "%s\n", request);
	fclose(out);
}

static char *next_line(struct script *s, const char *method, size_t len)
{
	for (size_t i = 0; i < s->n; i++) {
		char *line = s->line[i];

		if (!line || strncmp(line, method, len) || line[len] != ' ')
			continue;
		s->line[i] = NULL;
		return line;
	}
	return NULL;
}

static void pause_ms(long ms)
{
	struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

	nanosleep(&t, NULL);
}

static enum verdict answer(struct script *s, int fd, const char *request)
{
	const char *method = strstr(request, METHOD);
	bool more = true;
	char *line;

	method = method ? method + strlen(METHOD) : "";
	while (more && (line = next_line(s, method, strcspn(method, "\"")))) {
		const char *reply = strchr(line, ' ') + 1;

		if (!strncmp(reply, "!sleep ", 7)) {
			pause_ms(atol(reply + 7));
		} else if (*reply == '!') {
			more = !strcmp(reply, "!exit");
			free(line);
			return more ? EXIT : HANG_UP;
		} else if (send(fd, reply, strlen(reply) + 1, MSG_NOSIGNAL) < 0) {
			more = false;
		} else {
			more = strstr(reply, "\"continues\":true") != NULL;
		}
		free(line);
	}
	return ANSWERED;
}

static enum verdict serve(struct script *s, int fd, const char *log_path)
{
	FILE *client = fdopen(fd, "r");
	enum verdict verdict = ANSWERED;
	char *request = NULL;
	size_t room = 0;

	while (verdict == ANSWERED && read_request(client, &request, &room)) {
		log_request(log_path, request);
		verdict = answer(s, fd, request);
	}
	free(request);
	fclose(client);
	return verdict;
}

int main(int argc, char **argv)
{
	struct script s = {0};
	int fd, client;

	if (argc != 4)
		errx(1, "usage: fakevnicd SOCKET SCRIPT LOG");
	read_script(argv[2], &s);
	fd = listen_at(argv[1]);
	while ((client = accept4(fd, NULL, NULL, SOCK_CLOEXEC)) >= 0)
		if (serve(&s, client, argv[3]) == EXIT)
			break;
	unlink(argv[1]);
	for (size_t i = 0; i < LINES_MAX; i++)
		free(s.line[i]);
	return 0;
}
