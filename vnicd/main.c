/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The daemon from start to stop: options, lock, world, socket, loop. Does nothing itself. */
#include "vnicd/config.h"
#include "vnicd/daemon.h"
#include "vnicd/log.h"
#include "vnicd/privilege.h"
#include "vnicd/server.h"
#include "vnicd/upkeep.h"

#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <systemd/sd-daemon.h>

enum { EXIT_MEND = 1, EXIT_REST = 2 };

static const char help[] =
	"Usage: vnicd [OPTION]...\n"
	"Keeps the VNICs and etherstubs of the network namespace it is started in.\n"
	"\n"
	"  --socket PATH      where vnicadm finds it (default /run/vnicd/vnicd.sock)\n"
	"  --state-dir DIR    where the wanted state is kept (default /var/lib/vnicd)\n"
	"  --bpf-dir DIR      where eBPF programs are pinned, on a bpffs (default /sys/fs/bpf/vnicd)\n"
	"  --log-level LEVEL  error, warning, info (the default) or debug\n"
	"  --config FILE      more of these (default /etc/vnicd/vnicd.conf, see vnicd.conf(5))\n"
	"  --remove-links     take all links and caps out of the kernel, keep what is wanted, and exit\n"
	"  --version          print the version\n"
	"  --help             print this\n"
	"\n"
	"It stays in the foreground; SIGTERM and SIGINT end it, SIGHUP reads the file again. Traffic and "
	"caps go on without it.\n";

static const struct option long_options[] = {
	{.name = "socket", .has_arg = required_argument, .val = 's'},
	{.name = "state-dir", .has_arg = required_argument, .val = 'd'},
	{.name = "bpf-dir", .has_arg = required_argument, .val = 'b'},
	{.name = "log-level", .has_arg = required_argument, .val = 'l'},
	{.name = "config", .has_arg = required_argument, .val = 'c'},
	{.name = "remove-links", .has_arg = no_argument, .val = 'r'},
	{.name = "version", .has_arg = no_argument, .val = 'V'},
	{.name = "help", .has_arg = no_argument, .val = 'h'},
	{0},
};

static void say_and_exit(FILE *out, int status, const char *text)
{
	fputs(text, out);
	exit(fflush(out) == 0 ? status : EXIT_REST);
}

static void usage(const char *what, const char *word)
{
	fprintf(stderr, "vnicd: %s%s: see 'vnicd --help'\n", what, word);
	exit(EXIT_MEND);
}

static int parse_level(const char *word)
{
	int level = log_level_parse(word);

	if (level < 0)
		usage("--log-level is error, warning, info or debug, not ", word);
	return level;
}

/* What was read at start, and where from. */
struct settings {
	const char *path;  /* of the configuration file as given, or NULL */
	bool remove_links; /* do that, instead of serving */
	struct config config;
	struct options typed, options;
};

static void parse(int argc, char **argv, struct settings *s)
{
	struct options *o = &s->typed;
	int c;

	while ((c = getopt_long(argc, argv, ":", long_options, NULL)) != -1) {
		switch (c) {
		case 's':
			o->socket = optarg;
			break;
		case 'd':
			o->state_dir = optarg;
			break;
		case 'b':
			o->bpf_dir = optarg;
			break;
		case 'l':
			o->log_level = parse_level(optarg);
			break;
		case 'c':
			s->path = optarg;
			break;
		case 'r':
			s->remove_links = true;
			break;
		case 'V':
			say_and_exit(stdout, EXIT_SUCCESS, "vnicd " VERSION "\n");
			break;
		case 'h':
			say_and_exit(stdout, EXIT_SUCCESS, help);
			break;
		case ':':
			usage("needs a value: ", argv[optind - 1]);
			break;
		default:
			usage("no such option: ", argv[optind - 1]);
		}
	}
	if (optind < argc)
		usage("takes no operand: ", argv[optind]);
}

/* Every zone costs descriptors. */
static void raise_descriptors(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

static int on_stop(sd_event_source *source, const struct signalfd_siginfo *info, void *arg)
{
	(void)arg;
	log_info(NULL, "stopping on %s; links and caps stay", strsignal((int)info->ssi_signo));
	sd_notify(0, "STOPPING=1\nSTATUS=Stopping; links and caps stay.");
	return sd_event_exit(sd_event_source_get_event(source), 0);
}

static int read_settings(struct settings *s, struct config *ret, struct err *e)
{
	return config_read(s->path ? s->path : CONFIG_PATH, s->path != NULL, ret, e);
}

/* Only the log's level can be changed while it runs. */
static void reload(struct settings *s)
{
	struct config now;
	struct options o = s->typed;
	struct err e = {0};
	char text[640];

	if (read_settings(s, &now, &e) < 0) {
		log_error(NULL, "nothing reloaded: %s", err_str(&e, text, sizeof(text)));
		return;
	}
	config_apply(&now, &o);
	if (strcmp(o.socket, s->options.socket) != 0 || strcmp(o.state_dir, s->options.state_dir) != 0 ||
	    strcmp(o.bpf_dir, s->options.bpf_dir) != 0)
		log_warning(NULL, "socket, state-dir and bpf-dir change at the next start only");
	log_set_level(o.log_level);
	log_info(NULL, "reloaded");
	config_free(&now);
}

static int on_reload(sd_event_source *source, const struct signalfd_siginfo *info, void *arg)
{
	(void)source;
	(void)info;
	reload(arg);
	return 0;
}

/* Signals come through the loop: a request in progress is finished first. */
static int take_signals(struct settings *s, sd_event *event, struct err *e)
{
	sigset_t taken;
	int r;

	sigemptyset(&taken);
	sigaddset(&taken, SIGTERM);
	sigaddset(&taken, SIGINT);
	sigaddset(&taken, SIGHUP);
	sigprocmask(SIG_BLOCK, &taken, NULL);
	signal(SIGPIPE, SIG_IGN);
	if ((r = sd_event_add_signal(event, NULL, SIGTERM, on_stop, NULL)) < 0 ||
	    (r = sd_event_add_signal(event, NULL, SIGINT, on_stop, NULL)) < 0 ||
	    (r = sd_event_add_signal(event, NULL, SIGHUP, on_reload, s)) < 0 ||
	    (r = sd_event_set_watchdog(event, true)) < 0)
		return err_sys(e, r, NULL, "cannot take signals: %s", strerror(-r));
	return 0;
}

static int serve(struct settings *s, sd_event *event, struct server **server, struct daemon **d,
		 struct err *e)
{
	const struct options *o = &s->options;
	int r;

	if ((r = privilege_drop(e)) < 0 || (r = take_signals(s, event, e)) < 0 ||
	    (r = server_lock(event, server, e)) < 0 || (r = daemon_open(o, event, d, e)) < 0)
		return r;
	if (s->remove_links)
		return upkeep_unmake(*d, e);
	if ((r = server_listen(*server, *d, o->socket, e)) < 0)
		return r;
	log_info(NULL, "version " VERSION " serves at %s", o->socket);
	sd_notifyf(0, "READY=1\nSTATUS=Serving at %s.", o->socket);
	r = sd_event_loop(event);
	return r < 0 ? err_sys(e, r, NULL, "the event loop ended: %s", strerror(-r)) : 0;
}

static int complain(const struct err *e)
{
	char text[640];

	log_error(NULL, "%s", err_str(e, text, sizeof(text)));
	sd_notifyf(0, "STATUS=%s\nERRNO=%d", text, -e->code);
	return e->mend ? EXIT_MEND : EXIT_REST;
}

int main(int argc, char **argv)
{
	struct settings s = {.typed.log_level = -1};
	struct server *server = NULL;
	struct daemon *d = NULL;
	sd_event *event = NULL;
	struct err e;
	int r;

	parse(argc, argv, &s);
	s.options = s.typed;
	if (read_settings(&s, &s.config, &e) < 0)
		return complain(&e);
	config_apply(&s.config, &s.options);
	log_set_level(s.options.log_level);
	umask(022); /* the socket's directory is everybody's to enter */
	raise_descriptors();
	r = sd_event_default(&event);
	if (r < 0)
		r = err_sys(&e, r, NULL, "no event loop: %s", strerror(-r));
	else
		r = serve(&s, event, &server, &d, &e);
	server_close(server);
	daemon_close(d);
	sd_event_unref(event);
	config_free(&s.config);
	return r < 0 ? complain(&e) : EXIT_SUCCESS;
}
