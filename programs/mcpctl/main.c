/* main.c: mcpctl, a client for people and scripts. */
#define _GNU_SOURCE
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <common/sibling.h>

#include "mcpctl.h"

const char *program_name = "mcpctl";

/* Used by the signal handler. */
static mcp_loop *the_loop;
static volatile sig_atomic_t the_signal;

static void on_signal(int number)
{
    the_signal = number;
    mcp_loop_stop(the_loop);
}

/* Catches signals. The first one ends the server in an orderly way, and a second one kills
 * mcpctl. */
static void catch_signals(void)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND};
    struct sigaction old;
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        if (sigaction(numbers[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
            sigaction(numbers[i], &action, NULL);
    }
}

int signals_take(void)
{
    int number = the_signal;
    the_signal = 0;
    if (number)
        catch_signals();
    return number;
}

void raise_again(int number)
{
    the_signal = number;
}

static bool reader_is_gone(void)
{
    struct pollfd p = {.fd = STDOUT_FILENO, .events = POLLOUT};
    return poll(&p, 1, 0) == 1 && (p.revents & POLLERR);
}

static int flush_output(ctl *c, int code)
{
    if (flush_stdout(c))
        return code;
    if (!reader_is_gone()) /* a closed pipe is not an error: the reader has seen enough */
        say("cannot write the output: %s",
            c->write_errno ? strerror(c->write_errno) : "an earlier write failed");
    return code == EXIT_OK ? EXIT_LOCAL : code;
}

static int run(ctl *c)
{
    mcp_error error = {0};
    session s = {0};
    if (mcp_loop_new(NULL, &s.loop, &error) != MCP_OK) {
        say("%s", error.text);
        return EXIT_LOCAL;
    }
    c->session = &s;
    the_loop = s.loop;
    catch_signals();
    bool alone = c->command->flags & COMMAND_ALONE;
    int code = alone ? EXIT_OK : session_open(c);
    if (code == EXIT_OK)
        code = c->command->run(c);
    code = flush_output(c, code); /* before waiting for the server */
    session_close(&s);
    signal(SIGINT, SIG_DFL), signal(SIGTERM, SIG_DFL), signal(SIGHUP, SIG_DFL);
    the_loop = NULL;
    mcp_loop_free(s.loop);
    return the_signal ? 128 + the_signal : code;
}

static int act(ctl *c)
{
    if (c->set.help_man)
        help_man(stdout);
    else if (c->set.completion)
        help_completion(stdout, c->set.completion);
    else if (c->set.help)
        help_print(stdout, c->command);
    else if (c->set.version)
        say_version(MCP_PARTS, c->set.verbose);
    else
        return run(c);
    return flush_output(c, EXIT_OK);
}

#ifdef MCP_STATIC_PROGRAMS
/* Runs the program of which this one has the name. Returns -1 if it is mcpctl itself. */
static int run_as(const char *name, int argc, char **argv)
{
    bool is_browse = strcmp(name, "mcpctl-browse") == 0;
    if (!is_browse && strcmp(name, "mcpctl-web") != 0)
        return -1;
    program_name = is_browse ? "mcpctl browse" : "mcpctl web";
    return is_browse ? browse_main(argc, argv) : web_main(argc, argv);
}
#else
static int run_as(const char *name, int argc, char **argv)
{
    (void)name, (void)argc, (void)argv;
    return -1;
}
#endif

int main(int argc, char **argv)
{
    static char buffer[1 << 16];
    ctl c;
    const char *slash = argc ? strrchr(argv[0], '/') : NULL;
    int other = run_as(slash ? slash + 1 : argc ? argv[0] : "", argc, argv);
    if (other >= 0)
        return other;
    setvbuf(stdout, buffer, _IOFBF, sizeof(buffer));
    int code = options_parse(argc, argv, false, &c);
    c.out_is_terminal = isatty(STDOUT_FILENO) == 1;
    if (code == EXIT_OK)
        code = act(&c);
    ctl_clear(&c);
    return code;
}
