/* options.h: the options of mcpd as one table, which defines the command line, --help, the manual
 * page and most of the configuration file's schema. main.c interprets the options; this code does
 * not access the file system.
 */
#ifndef MCPD_OPTIONS_H
#define MCPD_OPTIONS_H

#include <common/options.h>
#include <mcp/json.h>

/* A source; everything is borrowed. */
typedef struct source {
    const char *text;        /* a path, NAME:REST, or if `module` is set, only REST */
    const char *module;      /* NULL if `text` names the module, if any */
    const char *name;        /* with a module: the name in URIs; may be NULL */
    const mcp_json *options; /* with a module; may be NULL */
    const mcp_json
        *written;     /* the source as it stands in the file, with references to secrets; or NULL */
    const char *base; /* the folder for relative paths of a module; NULL for the current folder */
    const char *writes;    /* a folder: "write=GLOB&..." (source_write.h), or NULL */
    const mcp_json *write; /* a folder in a file: a glob, or a list of them; or NULL */
    bool in_process;       /* the source gets no process of its own */
    bool of_host;          /* from a file of --servers */
    size_t index;          /* in the configuration file's list */
} source;

typedef struct sources {
    source *items;
    size_t count;
} sources;

/* Returns false if out of memory. */
bool sources_add(sources *list, const source *one);
/* Returns the first one with this name or text, or NULL. */
const source *sources_named(const source *list, size_t count, const char *name);
/* Returns whether the source belongs to a module and is not a file or folder. */
bool source_is_module(const source *s);

typedef struct settings {
    bool hidden, no_ignore;
    texts include, exclude;
    uint64_t page_size, list_ms, max_read, answer_tokens, watch_budget;
    bool no_isolate;
    bool resource_tools, no_resource_tools, no_watch, no_subscribe, no_list_changed;
    const char *name, *instructions, *log_level, *log_format, *audit, *audit_claim, *print_config,
        *install, *via, *install_file, *view;
    bool yes, audit_required;
    const char *traces, *traces_auth_file;
    uint64_t traces_one_in;
    const char *decisions, *decisions_auth_file;
    uint64_t decisions_ms;
    texts http, allow_host, allow_origin, trusted_proxy;
    bool http_sse, page, stdio;
    const char *proxy_header, *token_file, *tls_cert, *tls_key;
    const char *bus, *bus_name, *bus_password_file, *seal_key_file;
    const char *instance_address, *instance_ca_file;
    uint64_t max_connections, max_per_address, max_per_principal, max_memory, max_share, keep_files;
    uint64_t max_sessions, max_sessions_each;
    uint64_t max_body, heartbeat, drain_time, drain_delay, workers;
    uint64_t max_work_memory, max_source_processes;
    uint64_t max_upstream_calls, max_upstream_sessions, max_upstream_bytes;
    uint64_t max_upstream_sessions_in_all;
    uint64_t calls_per_second, completions_per_second, polls_per_second;
    bool no_rate_limits, share_limits;
    bool version, verbose, help, help_man, help_schema;
    const char *config, *completion, *as, *check_health;
    bool check_config, doctor, json, list_modules;

    texts modules;
    texts servers;          /* configuration files of hosts */
    struct servers *hosted; /* what the sources of these files borrow (servers.h) */
    const char *approved, *remember, *journal;
    uint64_t journal_size;
    bool approve, withhold_changed;
    const char *prompts;

    sources sources; /* all of them */
    texts files;     /* the sources that are files and folders */
    texts kept;      /* options as they were given, for the configuration of a host */
    char **cut;      /* paths of sources whose words also have parameters */
    size_t n_cut;
} settings;

/* Returns the option for a member of the libraries' options: "--max-body" for "max_body", or NULL
 * if there is none. */
const char *options_of_member(const char *member, void *user);

/* Fills *ret, to be released by options_clear(). Returns 0, or 2 after reporting the error on
 * stderr. */
int options_parse(int argc, char **argv, settings *ret);
void options_clear(settings *s);

const option *options_table(size_t *count);
/* Overrides the settings of a configuration file with those of the command line, whose lists and
 * sources replace those of the file. Returns false if out of memory. */
bool options_over(settings *file, const settings *line);

/* Returns a short description of what is served: the first source, or the folder of prompts.
 * Returns NULL if nothing is served. */
const char *options_what(const settings *s);

void options_usage(FILE *to);
void options_help(FILE *to);
void options_man(FILE *to);
void options_completion(FILE *to, const char *shell);

#endif
