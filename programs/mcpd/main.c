/* main.c: mcpd, a server that offers folders and files as MCP resources over stdin and stdout, or
 * over HTTP.
 *
 * This file only connects the parts: the command line (options.c) and the configuration file
 * (config.c), the registrations (offer.c), and the transports of libmcp-io (HTTP in http.c). It
 * uses only the public interface. Nothing is read, watched or started before a peer needs it, so
 * that a host gets the first answer within a few milliseconds.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <common/text.h>
#include <mcp/io.h>
#include <mcp/mcp.h>
#include <prompts.h>

#include "about.h"
#include "approve.h"
#include "audit.h"
#include "bus.h"
#include "check.h"
#include "commands.h"
#include "decisions.h"
#include "confine.h"
#include "doctor.h"
#include "effective.h"
#include "entry.h"
#include "health.h"
#include "http.h"
#include "capacity.h"
#include "install.h"
#include "log.h"
#include "oauth_server.h"
#include "offer.h"
#include "reload.h"
#include "source_child.h"
#include "sources.h"
#include "supervisor/board.h"
#include "supervisor/life.h"
#include "supervisor/notify.h"
#include "supervisor/share.h"
#include "supervisor/start.h"
#include "supervisor/supervisor.h"
#include "traces.h"
#include "upstreams.h"

/* Prints an error in the configuration for the user. */
static void tell(const char *line)
{
    text_put(stderr, mcp_str_from(line), TEXT_LINE);
    fputc('\n', stderr);
}

static int fail(const mcp_error *error)
{
    if (error->code && !error->text[0] && error->code != MCP_ENOMEM)
        return 1; /* the error was reported already */
    say("%s", error->text[0] ? error->text : mcp_error_text(error->code));
    return 1;
}

/* ---- the server ------------------------------------------------------------------------------ */

static int make_server(const settings *s, const mcp_host *host, mcp_server **ret, mcp_error *error)
{
    return mcp_server_new(
        MCP_OPTIONS(
            mcp_server_options, .name = s->name ? s->name : "mcpd", .version = MCP_VERSION_STRING,
            .page_size = (size_t)s->page_size, .list_ms = s->list_ms,
            .no_subscribe = s->no_subscribe || s->no_watch,
            .no_list_changed = s->no_list_changed || s->no_watch, .declare_prompts = s->prompts,
            .host = host, .calls_per_second = (uint32_t)s->calls_per_second,
            .completions_per_second = (uint32_t)s->completions_per_second,
            .polls_per_second = (uint32_t)s->polls_per_second, .no_rate_limits = s->no_rate_limits,
            .max_work_memory = (size_t)s->max_work_memory, .option_name = options_of_member),
        ret, error);
}

static int add_prompts(const settings *s, mcp_server *server, mcp_prompts **ret, mcp_error *error)
{
    if (!s->prompts)
        return MCP_OK;
    return mcp_prompts_add(
        server, MCP_OPTIONS(mcp_prompts_options, .folder = s->prompts, .no_watch = s->no_watch),
        ret, error);
}

/* Prints a note if stdin is a terminal, because a user who starts mcpd by hand would otherwise see
 * no output. */
static void greet(const settings *s)
{
    char *what = isatty(STDIN_FILENO) ? about_first(s) : NULL;
    if (what)
        say("serving %s on stdin and stdout; waiting for an MCP client (Ctrl-D ends). A host "
            "starts it "
            "itself: see mcpd --print-config.",
            what);
    free(what);
}

/* Exits without waiting for a read that hangs (for example, on a network file system that does not
 * respond). Memory that its thread uses is not freed. */
static void finish_work(mcp_loop *loop, int rc)
{
    enum { MOST_MS = 2000 };
    if (mcp_loop_drain(loop, rc == MCP_ETIMEOUT ? 0 : MOST_MS) != MCP_ETIMEOUT)
        return;
    fputs("mcpd: a read does not end; exiting without it\n", stderr);
    _exit(1);
}

/* ---- the program ----------------------------------------------------------------------------- */

/* The state of one run. */
typedef struct program {
    start start;
    settings line;  /* only those of the command line */
    settings now;   /* merged with the configuration file */
    config *config; /* NULL without a configuration file */
    offer offer;
    tokens *known; /* NULL without static tokens */
    audit audit;
    traces *traces;
    decisions *decisions;
    mcp_resource_server *oauth;
    bus *bus; /* NULL without --bus and without other workers */
    listeners at;
    mcp_loop *loop;
    mcp_server *server;
    mcp_prompts *prompts;
    reload *reload;
    life *life;      /* over HTTP */
    bool has_errors; /* an error was reported by --check-config */
} program;

static http_logins logins_of(program *p)
{
    return (http_logins){.known = &p->known,
                         .audit = &p->audit,
                         .traces = p->traces,
                         .decisions = p->decisions,
                         .oauth = p->oauth,
                         .public_url = p->oauth ? oauth_public_url(p->config) : NULL,
                         .config = p->config};
}

static void on_ready(void *arg)
{
    life_ready(((const program *)arg)->life);
}

static void on_draining(void *arg)
{
    life_draining(((const program *)arg)->life);
}

/* Serves over HTTP, in a process that others may have started, and that they may replace. */
static int run_http(program *p, mcp_error *error)
{
    http_logins logins = logins_of(p);
    start *own = &p->start;
    board *b = NULL;
    if (own->role == START_WORKER)
        b = board_open(own->board, own->number, own->count, p->now.http.count, own->doorbell);
    int rc = own->role == START_WORKER && !b ? MCP_ENOMEM : MCP_OK;
    if (rc == MCP_OK)
        rc = life_start(&(life_context){.start = own,
                                        .now = &p->now,
                                        .at = &p->at,
                                        .reload = p->reload,
                                        .loop = p->loop,
                                        .board = b},
                        &p->life);
    if (rc == MCP_OK)
        rc = http_serve(&p->now, p->loop, p->server, &logins, &p->offer,
                        &(http_life){.start = own,
                                     .board = b,
                                     .line = bus_line(p->bus),
                                     .ready = on_ready,
                                     .draining = on_draining,
                                     .user = p},
                        &p->at, error);
    life_stop(p->life);
    board_free(b);
    return rc;
}

static int run_loop(program *p, mcp_error *error)
{
    const settings *s = &p->now;
    int rc = MCP_OK;
    if (p->config || s->http.count || s->audit || s->seal_key_file)
        rc = reload_start(&(reload_context){.line = &p->line,
                                            .start = s,
                                            .offer = &p->offer,
                                            .known = &p->known,
                                            .oauth = p->oauth,
                                            .config = p->config,
                                            .at = &p->at,
                                            .workers = p->start.count,
                                            .prompts = p->prompts,
                                            .audit = &p->audit,
                                            .traces = p->traces,
                                            .decisions = p->decisions,
                                            .bus = p->bus,
                                            .server = p->server,
                                            .host = mcp_loop_host(p->loop)},
                          &p->reload);
    if (rc == MCP_OK)
        rc = bus_share(p->bus, error);
    if (rc == MCP_OK) {
        commands_look(p->config, false);
        capacity_raise_files(s);
        if (s->http.count)
            capacity_set_allocator();
        if (!s->http.count)
            greet(s);
        rc = s->http.count ? run_http(p, error) : http_serve_stdio(s, p->loop, p->server, error);
        mcp_server_cancel_tasks(p->server); /* first, because the next call waits for their work */
        finish_work(p->loop, rc);
        bus_settle(p->bus, p->loop);
        if (s->http.count)
            check_locate_http(p->config, &p->line, s, p->at.failed, rc, error);
    }
    reload_stop(p->reload);
    return rc;
}

/* Reports an error at its place in the file. --check-config continues, to report further errors. */
static int at_option(program *p, const char *name, size_t index, int rc, mcp_error *error)
{
    check_locate(p->config, &p->line, name, index, rc, error);
    if (rc == MCP_OK || rc == MCP_ENOMEM || !p->now.check_config)
        return rc;
    if (error->text[0])
        say("%s", error->text);
    *error = (mcp_error){0};
    p->has_errors = true;
    return MCP_OK;
}

static int load_modules(program *p, mcp_error *error)
{
    const texts *list = &p->now.modules;
    int rc = MCP_OK;
    for (size_t i = 0; rc == MCP_OK && i < list->count; i++)
        rc =
            at_option(p, "module", i, modules_load(p->offer.modules, list->items[i], error), error);
    return rc;
}

static int start_audit(program *p, mcp_error *error)
{
    const settings *s = &p->now;
    if (s->audit_required && !s->audit) {
        snprintf(error->text, sizeof(error->text), "audit-required needs audit");
        return error->code = MCP_EINVAL;
    }
    if (!s->audit || s->print_config || s->install)
        return MCP_OK;
    int rc = audit_open(&p->audit, s->audit, error);
    audit_show(&p->audit, s->audit_claim);
    p->audit.required = s->audit_required;
    if (rc == MCP_OK)
        mcp_server_set_audit(p->server, audit_request, &p->audit);
    if (rc == MCP_OK && s->audit_required)
        mcp_server_require_audit(p->server, audit_kept);
    return rc;
}

static int make_bus(program *p, mcp_error *error)
{
    const char *name = "bus";
    int rc = bus_new(&(bus_context){.s = &p->now,
                                    .host = mcp_loop_host(p->loop),
                                    .server = p->server,
                                    .known = &p->known,
                                    .oauth = p->oauth,
                                    .at = &p->at,
                                    .line = p->start.line,
                                    .key = p->start.key},
                     &p->bus, &name, error);
    return at_option(p, name, 0, rc, error);
}

/* Checks that the view of the command line exists. */
static int check_view(const program *p, mcp_error *error)
{
    const char *name = p->line.view;
    if (!name || views_find(access_views(p->offer.all_rules), mcp_str_from(name)))
        return MCP_OK;
    snprintf(error->text, sizeof(error->text), "--view: there is no view %.64s: %s", name,
             p->config ? "name it in \"views\" of the configuration"
                       : "views are named in a configuration (--config)");
    return error->code = MCP_ENOTFOUND;
}

/* Does everything that precedes serving. */
static int prepare(program *p, mcp_error *error)
{
    const settings *s = &p->now;
    int rc = mcp_loop_new(NULL, &p->loop, error);
    if (rc == MCP_OK)
        rc = load_modules(p, error);
    if (rc == MCP_OK) {
        mcp_host host = *mcp_loop_host(p->loop);
        host.log = log_line;
        rc = check_locate(p->config, &p->line, "name", 0, make_server(s, &host, &p->server, error),
                          error);
    }
    if (rc == MCP_OK && s->check_config && !sources_check(&p->offer))
        p->has_errors = true; /* what opening them would report was reported */
    else if (rc == MCP_OK)
        rc = at_option(p, "sources", 0, offer_make(&p->offer, p->server, error), error);
    if (rc == MCP_OK)
        rc = check_view(p, error);
    if (rc == MCP_OK)
        rc = at_option(p, "audit", 0, start_audit(p, error), error);
    if (rc == MCP_OK && !s->print_config && !s->install)
        rc = at_option(p, "traces", 0, traces_start(s, p->loop, p->server, &p->traces, error),
                       error);
    if (rc == MCP_OK && !s->print_config && !s->install)
        rc = at_option(p, "decisions", 0,
                       decisions_start(s, &p->offer, p->loop, p->server, &p->decisions, error),
                       error);
    if (rc == MCP_OK)
        rc = at_option(p, "token-file", 0, tokens_load(s->token_file, p->config, &p->known, error),
                       error);
    if (rc == MCP_OK)
        rc = at_option(
            p, "oauth", 0,
            oauth_server_new(p->config, s->name, p->start.key + BUS_KEY, p->loop, &p->oauth, error),
            error);
    if (rc == MCP_OK)
        rc = at_option(p, "access", 0, principals_check(p->config, p->known), error);
    if (rc == MCP_OK)
        rc = make_bus(p, error);
    return rc == MCP_OK
               ? at_option(p, "prompts", 0, add_prompts(s, p->server, &p->prompts, error), error)
               : rc;
}

/* Checks the steps at the beginning of serving. An address in use is not an error, because this
 * server may be using it. */
static int check_serving(program *p, mcp_error *error)
{
    const settings *s = &p->now;
    http_logins logins = logins_of(p);
    int rc = MCP_OK;
    for (size_t i = 0; rc == MCP_OK && i < s->http.count; i++) {
        rc = http_try(s, i, p->loop, p->server, &logins, NULL, error);
        if (rc == MCP_EEXIST)
            rc = MCP_OK;
        check_locate_http(p->config, &p->line, s, i, rc, error);
        rc = at_option(p, "http", i, rc, error);
    }
    return rc;
}

static int check(program *p, mcp_error *error)
{
    int rc = check_serving(p, error);
    p->has_errors = commands_look(p->config, true) || p->has_errors;
    if (rc == MCP_OK && !p->has_errors && !log_has_errors())
        printf("%s: it is valid\n", p->line.config);
    return rc;
}

static int print_what(const program *p)
{
    if (p->now.print_config && strcmp(p->now.print_config, "mcpd") == 0)
        return effective_print(&p->offer);
    entry e;
    const char *host = p->now.install ? p->now.install : p->now.print_config;
    if (!entry_make(host, &p->line, &p->now, p->known != NULL, p->offer.modules, &e))
        return 1;
    int status =
        p->now.install ? install_entry(&e, p->now.install_file, p->now.yes) : entry_print(&e);
    entry_clear(&e);
    return status;
}

static int serve(program *p)
{
    mcp_error error = {0};
    int rc = prepare(p, &error), status = 0;
    if (rc == MCP_OK && p->now.check_config)
        rc = check(p, &error), status = p->has_errors || log_has_errors();
    else if (rc == MCP_OK && (p->now.print_config || p->now.install))
        status = print_what(p);
    else if (rc == MCP_OK)
        rc = run_loop(p, &error);
    mcp_prompts_free(p->prompts);
    offer_leave(&p->offer);
    mcp_server_free(p->server);
    traces_stop(p->traces);
    decisions_stop(p->decisions);
    bus_free(p->bus);
    mcp_resource_server_free(p->oauth);
    if (p->loop)
        (void)mcp_loop_drain(p->loop, 2000); /* sessions with other servers are ended */
    mcp_loop_free(p->loop);
    audit_close(&p->audit);
    error.code = rc;
    return rc == MCP_OK ? status : fail(&error);
}

/* Checks combinations of options that are valid by themselves. */
static int refuse(const settings *line, const settings *s)
{
    if (line->check_config && !line->config)
        return say("--check-config requires --config; --doctor also checks a command line"), 2;
    if (!options_what(s) && s->servers.count && !line->doctor)
        return say("%s has no server that can be used", s->servers.items[0]), 1;
    if (!options_what(s) && !line->config && !line->doctor) {
        options_usage(stderr);
        fprintf(stderr, "Name a folder or a file to serve, or try 'mcpd --help'.\n");
        return 2;
    }
    if ((line->install_file || line->yes) && !line->install)
        return say("--install-file and --yes need --install"), 2;
    if (line->as && !line->doctor)
        return say("--as belongs to --doctor"), 2;
    if (line->view && s->http.count && !s->stdio && !line->doctor)
        return say("--view belongs to standard input and output; over HTTP a view is at the path "
                   "/mcp/%s",
                   line->view),
               2;
    if (line->via && !line->print_config && !line->install)
        return say("--via belongs to --print-config and --install"), 2;
    return 0;
}

/* Returns whether what cannot be served is an error. */
static bool is_strict(const settings *line)
{
    return line->check_config || line->print_config || line->install;
}

/* Determines the settings in force. Returns 0, or the exit code after reporting the error. */
static int configure(program *p)
{
    config_tell *to = p->line.doctor ? doctor_tell : tell;
    if (config_settings(&p->line, is_strict(&p->line), to, &p->config, &p->now) != MCP_OK)
        return 1;
    int status = refuse(&p->line, &p->now);
    return status ? status : check_together(p->config, &p->line, &p->now);
}

static int list_modules(const settings *line)
{
    mcp_error error = {0};
    modules *m = modules_new();
    error.code = m ? MCP_OK : MCP_ENOMEM;
    for (size_t i = 0; error.code == MCP_OK && i < line->modules.count; i++)
        error.code = modules_load(m, line->modules.items[i], &error);
    if (error.code == MCP_OK)
        error.code = modules_list(m, stdout);
    modules_free(m);
    return error.code == MCP_OK ? 0 : fail(&error);
}

static bool needs_supervisor(const program *p)
{
    const settings *s = &p->now;
    return p->start.role != START_WORKER && s->http.count && share_workers(s) > 1 &&
           !s->check_config && !s->print_config && !s->install;
}

static int run(program *p)
{
    if (p->line.help)
        return options_help(stdout), 0;
    if (p->line.help_man)
        return options_man(stdout), 0;
    if (p->line.completion)
        return options_completion(stdout, p->line.completion), 0;
    if (p->line.help_schema)
        return config_print_schema(stdout);
    if (p->line.list_modules)
        return list_modules(&p->line);
    if (p->line.version)
        return say_version(MCP_PARTS, p->line.verbose), 0;
    if (p->line.check_health)
        return health_check(p->line.check_health);
    if (p->line.config || p->line.servers.count || p->line.http.count || p->line.audit ||
        p->line.seal_key_file)
        reload_hold(); /* must precede the start of any thread */
    int rc = configure(p);
    log_configure(&p->now);
    share_limits(&p->now, p->start.count);
    if (p->start.role == START_WORKER) {
        log_set_worker(p->start.number);
        p->now.instance_address = p->start.instance;
    } else if (p->now.http.count)
        notify_open();
    p->offer.modules = modules_new();
    p->offer.config = p->config;
    p->offer.now = &p->now;
    p->offer.strict = is_strict(&p->line);
    if (rc == 0 && !p->offer.modules)
        rc = fail(&(mcp_error){.code = MCP_ENOMEM});
    if (p->line.doctor && rc <= 1)
        rc = doctor_look(rc == 0 ? &p->now : &p->line, &p->offer, rc == 0);
    else if (rc == 0 && p->line.approve)
        rc = approve_tools(&p->now, &p->offer);
    else if (rc == 0 && needs_supervisor(p))
        rc = supervise(&p->start, &p->now);
    else if (rc == 0)
        rc = serve(p);
    offer_clear(&p->offer);
    modules_free(p->offer.modules);
    tokens_free(p->known);
    reload_free(p->reload);
    return rc;
}

int main(int argc, char **argv)
{
    program p = {.audit = {.fd = -1}};
    if (argc == 2 && strcmp(argv[1], SOURCE_CHILD) == 0)
        return source_child_run();
    if (argc > 2 && strcmp(argv[1], MCP_UPSTREAM_CONFINED) == 0)
        return confine_run(argc, argv);
    if (!start_look(&p.start, &argc, &argv))
        return 1;
    int rc = options_parse(argc, argv, &p.line);
    if (rc == 0)
        rc = run(&p);
    options_clear(&p.now);
    config_free(p.config);
    options_clear(&p.line);
    start_clear(&p.start);
    if (rc == 0 && fflush(stdout) != 0)
        rc = 1;
    return rc;
}
