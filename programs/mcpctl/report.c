/* report.c: reports failures of the server or of the connection, in the same words for every
 * command, with a hint about what to do.
 */
#define _GNU_SOURCE
#include <ctype.h>

#include "login.h"
#include "servers.h"
#include "session.h"
#include "terminal.h"

int exit_code_of(int rc)
{
    switch (rc) {
    case MCP_OK: return EXIT_OK;
    case MCP_EREMOTE: return EXIT_REMOTE;
    case MCP_ECLOSED:
    case MCP_ENOTFOUND:
    case MCP_EACCESS:
    case MCP_EIO: return EXIT_CONNECT;
    case MCP_EUNSUPPORTED:
    case MCP_ECANCELLED: return EXIT_REFUSED;
    case MCP_ENOMEM: return EXIT_LOCAL;
    default: return EXIT_PROTOCOL;
    }
}

/* Returns the capabilities that the server needs and the client does not have (2026-07-28, schema,
 * MissingRequiredClientCapabilityError), or NULL. */
static const mcp_json *missing_capability(const mcp_json *error)
{
    return mcp_json_get(mcp_json_get(error, "data"), "requiredCapabilities");
}

int exit_code_of_error(const mcp_json *error)
{
    return missing_capability(error) ? EXIT_REFUSED : EXIT_REMOTE;
}

static const char *server_label(const session *s)
{
    return s->server->argv ? s->server->argv[0] : s->server->url;
}

/* Returns the end of the server's output on stderr. If it is truncated, it begins at a line or a
 * word. Output from before the call is included only if the server ended. */
static mcp_str end_of_stderr(const session *s, int rc, bool *is_truncated)
{
    enum { KEPT = 4096 }; /* mcp/io.h */
    mcp_str text = s->child ? mcp_child_stderr(s->child) : (mcp_str){0};
    uint64_t since = s->stderr_written - s->stderr_before;
    *is_truncated = text.len >= KEPT;
    if (since < text.len && (since || rc != MCP_ECLOSED)) {
        *is_truncated = false;
        return (mcp_str){text.ptr + text.len - since, (size_t)since};
    }
    const char *begin = *is_truncated ? memchr(text.ptr, '\n', text.len - 1) : NULL;
    if (*is_truncated && !begin)
        begin = memchr(text.ptr, ' ', text.len - 1);
    size_t skipped = begin ? (size_t)(begin - text.ptr) + 1 : 0;
    return skipped ? (mcp_str){text.ptr + skipped, text.len - skipped} : text;
}

/* Shows the server's output on stderr. `reported` is the text that was already reported. */
static void show_stderr(const session *s, int rc, const char *reported)
{
    bool is_truncated;
    mcp_str text = end_of_stderr(s, rc, &is_truncated);
    if (s->verbose || !text.len)
        return;
    /* The report contains a single line already, unless it was too long. */
    size_t len = text.len - (text.ptr[text.len - 1] == '\n');
    if (!memchr(text.ptr, '\n', len) && memmem(reported, strlen(reported), text.ptr, len))
        return;
    fprintf(stderr, "mcpctl: %s the server wrote to stderr:\n",
            is_truncated ? "the last of what" : "what");
    text_put(stderr, text, TEXT_BLOCK);
    if (text.ptr[text.len - 1] != '\n')
        fputc('\n', stderr);
}

/* Returns whether a text begins with a scheme, such as "file:". */
static bool has_scheme(const char *uri)
{
    return isalpha((unsigned char)*uri) &&
           uri[strspn(uri, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-.")] ==
               ':';
}

static const char *name_of_path(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

static void hint_command(const session *s)
{
    fputs("        try the server's command on its own:", stderr);
    for (const char *const *word = s->server->argv; *word; word++)
        fputc(' ', stderr), text_put_word(stderr, *word);
    fputc('\n', stderr);
}

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* If the answer was not understood, suggests https:// instead of http://, or the reverse. */
static void hint_address(const char *url, const char *text)
{
    bool silent =
        strstr(text, "Empty reply") || strstr(text, "reset by peer") || strstr(text, "HTTP/0.9");
    if (begins(url, "http://") && silent)
        hint("it closed the connection without an answer: if it uses TLS, the address must begin "
             "with https://");
    else if (begins(url, "https://") &&
             (strstr(text, "wrong version number") || strstr(text, "packet length too long")))
        hint("that is not TLS: if it uses plain HTTP, the address must begin with http://");
    else if (begins(url, "unix:"))
        hint("is there an MCP server at the socket %s, and may you write to it?", url + 5);
    else
        hint("is there an MCP server at %s?", url);
}

/* Some servers fail on a token that they do not know, instead of answering with 401. */
static bool hint_token(const session *s, const char *text)
{
    if (!strstr(text, "HTTP status 5") || !login_has_token(s->login))
        return false;
    hint("it got the token of your login; if it does not know that any more, log in again: mcpctl "
         "login %s",
         server_label(s));
    return true;
}

/* Detects a common mistake: the address of the server without the path of its endpoint. */
static void hint_path(const char *url)
{
    const char *host = url ? strstr(url, "://") : NULL;
    size_t len = host ? strcspn(host + 3, "/?") : 0;
    if (host && (!host[3 + len] || strcmp(host + 3 + len, "/") == 0))
        hint("an address has a path too, usually /mcp: %.*s/mcp", (int)(host + 3 + len - url), url);
}

/* Names the missing capability: "tasks", or the missing extensions. */
static void hint_missing(const mcp_json *needed)
{
    const mcp_json *extensions = mcp_json_get(needed, "extensions");
    mcp_json_iter it = {0};
    mcp_str name;
    while (mcp_json_next(extensions ? extensions : needed, &it, &name))
        hint("it needs %s%.*s, which mcpctl does not have", extensions ? "the extension " : "",
             (int)(name.len < 128 ? name.len : 128), name.ptr);
}

static void hint_capability(const mcp_json *needed)
{
    if (mcp_json_get(needed, "sampling"))
        hint("it needs a language model: --sampler COMMAND answers for one");
    else if (mcp_json_get(needed, "elicitation"))
        hint("it asks for input, which requires a terminal");
    else if (mcp_json_get(needed, "roots"))
        hint("it needs to know your folders: --root DIR names one");
    else
        hint_missing(needed);
}

void report_unknown_uri(const char *uri)
{
    if (has_scheme(uri))
        hint("'mcpctl ls' lists the resources of this server");
    else
        hint("that is not a URI: 'mcpctl find %s' shows the URIs of resources with such a name",
             name_of_path(uri));
}

static void hint_remote(const ctl *c, const char *what, const mcp_json *object)
{
    if (!mcp_client_revision(c->session->client)) { /* the server did not start */
        if (c->set.revision)
            hint("without --revision mcpctl detects the revision of the server");
        hint_path(c->session->server->url);
        return;
    }
    int64_t code = mcp_json_int(mcp_json_get(object, "code"), 0);
    /* These are the codes for an unknown resource, before and since 2026-07-28. */
    bool unknown = strncmp(what, "read ", 5) == 0 && (code == -32002 || code == -32602);
    if (unknown)
        report_unknown_uri(what + 5);
    else if (strcmp(what, "complete") == 0 && code == -32602)
        hint("'mcpctl prompts' and 'mcpctl template' list what can be completed");
    else if (strcmp(what, "undo") == 0 && code == -32601)
        hint("this server keeps no changes that you could take back: an mcpd does, for whoever may "
             "write its files");
    else if (missing_capability(object))
        hint_capability(missing_capability(object));
    else if (code == -32601)
        hint("this server does not support the request; 'mcpctl info' shows what it offers");
}

static void hint_local(const ctl *c, int rc, const char *text)
{
    const session *s = c->session;
    switch (rc) {
    case MCP_ETIMEOUT:
        hint("--timeout SECONDS waits longer, --verbose shows what the server logs meanwhile");
        break;
    case MCP_ECLOSED:
    case MCP_EIO:
        if (s->server->argv)
            hint_command(s);
        else if (strstr(text, "certificate"))
            hint("SSL_CERT_FILE=FILE in the environment trusts the certificates in FILE");
        else if (!hint_token(s, text))
            hint_address(server_label(s), text);
        if (!s->server->argv && strstr(text, "neither"))
            hint_path(s->server->url);
        break;
    case MCP_EUNSUPPORTED:
        if (strstr(text, "roots/list"))
            hint("mcpctl was given no roots: --root DIR tells the server a folder");
        else if (strstr(text, "sampling/") && !c->set.sampler)
            hint("--sampler COMMAND answers for a language model");
        else if (strstr(text, "elicitation/") && !terminal_can_ask())
            hint("run it on a terminal to be asked; --answer NAME=VALUE fills in a form");
        break;
    case MCP_EACCESS: hint("--header 'Authorization: Bearer TOKEN' sends your token"); break;
    case MCP_EPROTOCOL:
        if (!mcp_client_revision(s->client))
            hint_path(s->server->url);
        hint("this is an error of the server; --verbose shows its log, --revision REV uses another "
             "revision");
        break;
    default: break;
    }
}

void session_report(const ctl *c, const char *what, int rc, const mcp_json *result,
                    const mcp_error *error)
{
    if (c->session->interrupted)
        return;
    bar_clear();
    long long code = (long long)mcp_json_int(mcp_json_get(result, "code"), 0);
    const char *text = error && error->text[0] ? error->text : mcp_error_text(rc);
    if (rc == MCP_EREMOTE)
        say("%s: the server answered with error %lld: %s", what, code, text);
    else if (rc == MCP_ECLOSED)
        say("%s: the connection to the server was lost: %s", what, text);
    else if (rc == MCP_EACCESS && login_failure(c->session->login) == EXIT_LOGIN)
        say("%s: the server requires a token or a login: %s", what, text);
    else
        say("%s: %s", what, text);
    if (rc == MCP_EREMOTE)
        hint_remote(c, what, result);
    else
        hint_local(c, rc, text);
    if (rc == MCP_ECLOSED || rc == MCP_ETIMEOUT || rc == MCP_EPROTOCOL)
        show_stderr(c->session, rc, text);
}
