/* transfer.c: runs an HTTP request with libcurl. handles.c makes it, and sets its options.
 *
 * Redirects are followed here, because the rules differ from those of libcurl: a POST stays a POST,
 * its body is not sent to another origin, and a redirect never leads from https to http. The
 * callback `bytes` limits the memory of a transfer. It counts bytes after decompression.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include <mcp/uri.h>

#include "io/http_client/http_client.h"

enum { MOST_REDIRECTS = 5 };

/* ---- addresses ------------------------------------------------------------------------------- */

typedef struct network {
    unsigned char address[16];
    unsigned bits;
} network;

static bool is_in(const unsigned char *address, const network *n)
{
    for (unsigned i = 0; i < n->bits; i++) {
        if ((address[i / 8] ^ n->address[i / 8]) & (0x80u >> i % 8))
            return false;
    }
    return true;
}

/* Returns whether an IPv4 address is public. The excluded networks are those that the registries of
 * special-purpose addresses (RFC 6890 and its successors) list as not global. */
static bool is_public_4(const unsigned char *address)
{
    static const network others[] = {
        {{0}, 8},
        {{10}, 8},
        {{100, 64}, 10},
        {{127}, 8},
        {{169, 254}, 16},
        {{172, 16}, 12},
        {{192, 0, 0}, 24},
        {{192, 0, 2}, 24},
        {{192, 88, 99}, 24},
        {{192, 168}, 16},
        {{198, 18}, 15},
        {{198, 51, 100}, 24},
        {{203, 0, 113}, 24},
        {{224}, 3},
    };

    for (size_t i = 0; i < MCP__COUNT(others); i++) {
        if (is_in(address, &others[i]))
            return false;
    }
    return true;
}

/* Returns whether an IPv6 address is public. If it embeds an IPv4 address, the embedded address
 * decides. */
static bool is_public_6(const unsigned char *address)
{
    static const network global = {{0x20}, 3};
    static const network others[] = {
        {{0x20, 0x01, 0x0d, 0xb8}, 32}, /* documentation */
        {{0x20, 0x01, 0, 0}, 23},       /* protocol assignments, such as Teredo */
        {{0x3f, 0xff}, 20},
    };
    static const network mapped = {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff}, 96};
    static const network translated = {{0, 0x64, 0xff, 0x9b}, 96};
    static const network six_to_four = {{0x20, 0x02}, 16};

    if (is_in(address, &mapped) || is_in(address, &translated))
        return is_public_4(address + 12);
    if (is_in(address, &six_to_four))
        return is_public_4(address + 2);
    for (size_t i = 0; i < MCP__COUNT(others); i++) {
        if (is_in(address, &others[i]))
            return false;
    }
    return is_in(address, &global);
}

bool mcp__address_is_public(const struct sockaddr *address)
{
    union {
        const struct sockaddr *any;
        const struct sockaddr_in *v4;
        const struct sockaddr_in6 *v6;
    } u = {address};

    if (address->sa_family == AF_INET)
        return is_public_4((const unsigned char *)&u.v4->sin_addr);
    return address->sa_family == AF_INET6 && is_public_6(u.v6->sin6_addr.s6_addr);
}

/* Returns whether a host may be an unusual spelling of a private address or of this machine, such
 * as "127.1", "0x7f.1" or "localhost.". Changes `host`. */
static bool is_private_spelling(char *host)
{
    struct in_addr address;
    size_t len = strlen(host);

    if (strchr(host, '%'))
        return true;
    if (len && host[len - 1] == '.')
        host[--len] = 0;
    mcp_str name = {host, len}, local = MCP_STR("localhost");
    if (len >= local.len && mcp__str_same(mcp__str_sub(name, len - local.len), local))
        return true;
    return inet_aton(host, &address) && !is_public_4((const unsigned char *)&address);
}

bool mcp__url_is_private(mcp_str url, const char *proxy)
{
    unsigned char address[16];
    char host[256];
    mcp_uri u;

    if (mcp__url_is_loopback(url) || mcp_uri_parse(url, &u, NULL) < 0 || u.host.len >= sizeof(host))
        return true;
    memcpy(host, u.host.ptr, u.host.len);
    host[u.host.len] = 0;
    if (u.is_ip_literal)
        return inet_pton(AF_INET6, host, address) != 1 || !is_public_6(address);
    if (proxy && *proxy && is_private_spelling(host))
        return true;
    return inet_pton(AF_INET, host, address) == 1 && !is_public_4(address);
}

/* Creates a socket for a connection. The address is checked here because a name may resolve to
 * other addresses each time. */
static curl_socket_t open_socket(void *user, curlsocktype purpose, struct curl_sockaddr *address)
{
    mcp__transfer *t = user;

    (void)purpose;
    if (t->checks_address && !mcp__address_is_public(&address->addr)) {
        t->failed = MCP_EACCESS;
        return CURL_SOCKET_BAD;
    }
    return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

/* Called when a request is about to be sent. libcurl repeats a request when a reused connection ends
 * without an answer. Usually the connection was idle for too long, but the server may also have
 * crashed while it handled this request, so one that may be sent only once ends here. */
static int on_request(void *user, char *to, char *from, int to_port, int from_port)
{
    mcp__transfer *t = user;

    (void)to, (void)from, (void)to_port, (void)from_port;
    t->n_sent++;
    if (!t->once)
        return CURL_PREREQFUNC_OK;
    if (!t->begun) {
        t->begun = true;
        return CURL_PREREQFUNC_OK;
    }
    t->failed = MCP_ECLOSED;
    return CURL_PREREQFUNC_ABORT;
}

/* ---- the answer ------------------------------------------------------------------------------ */

static bool is_redirect(int status)
{
    return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

/* Understands a Retry-After that is a date. */
static void read_date(mcp__transfer *t)
{
    int64_t at = (int64_t)t->multi->f.curl_getdate(t->answer.retry_date, NULL);
    int64_t ms = at * 1000 - mcp__system_wall(t->multi->loop);

    if (at >= 0)
        t->answer.retry_ms = (uint64_t)MCP__MAX(MCP__MIN(ms, (int64_t)MCP__RETRY_MOST_MS), 1);
}

static bool has_receiver(const mcp__transfer *t)
{
    return t->events && !t->satisfied;
}

/* Processes a line of the head. Returns n, or 0 to stop libcurl. */
static size_t on_header(char *bytes, size_t one, size_t n, void *user)
{
    mcp__transfer *t = user;

    (void)one;
    if (!has_receiver(t))
        return 0;
    int rc = mcp__answer_line(&t->answer, (mcp_str){bytes, n});
    if (rc < 0) {
        t->failed = rc;
        return 0;
    }
    if (!t->answer.complete || t->head_reported || is_redirect(t->answer.status))
        return n;
    if (t->answer.retry_date[0])
        read_date(t);
    t->head_reported = true;
    t->satisfied = !t->events->head(t->arg, &t->answer);
    return has_receiver(t) ? n : 0;
}

static size_t on_bytes(char *bytes, size_t one, size_t n, void *user)
{
    mcp__transfer *t = user;

    (void)one;
    if (!has_receiver(t))
        return 0;
    if (!t->head_reported)
        return n; /* the body of a redirect */
    if (mcp__transfer_must_wait(t, n))
        return CURL_WRITEFUNC_PAUSE;
    t->satisfied = !t->events->bytes(t->arg, (mcp_str){bytes, n});
    return has_receiver(t) ? n : 0;
}

/* ---- the end --------------------------------------------------------------------------------- */

static int code_of(CURLcode code)
{
    switch (code) {
    case CURLE_OK: return MCP_OK;
    case CURLE_OUT_OF_MEMORY: return MCP_ENOMEM;
    case CURLE_OPERATION_TIMEDOUT: return MCP_ETIMEOUT;
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_ISSUER_ERROR: return MCP_EACCESS;
    case CURLE_UNSUPPORTED_PROTOCOL: return MCP_EUNSUPPORTED;
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_BAD_CONTENT_ENCODING:
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM: return MCP_EPROTOCOL;
    default: return MCP_ECLOSED;
    }
}

static const char *text_of(const mcp__transfer *t, CURLcode code)
{
    if (t->has_no_bundle && code_of(code) == MCP_EACCESS)
        return "no certificate is trusted, because there is no file of them where distributions "
               "have "
               "one, such as /etc/ssl/certs/ca-certificates.crt: install ca-certificates, or name "
               "a "
               "file in SSL_CERT_FILE";
    switch (t->failed) {
    case MCP_OK: return t->error[0] ? t->error : t->multi->f.curl_easy_strerror(code);
    case MCP_EACCESS: return "the address belongs to this machine or to a private network";
    case MCP_ECLOSED:
        return "the server ended the connection without an answer; the request was not sent again, "
               "because it may have had an effect";
    case MCP_ELIMIT: return "the head of the answer is too large";
    default: return mcp_error_text(t->failed);
    }
}

static void finish(mcp__transfer *t, int rc, const char *text)
{
    const mcp__transfer_events *events = t->events;

    mcp__transfer_abandon(t);
    if (events)
        events->done(t->arg, rc, text);
}

/* ---- redirects ------------------------------------------------------------------------------- */

static bool may_redirect(const mcp__transfer *t, const char *to, char *why, size_t room)
{
    mcp_str from = mcp_str_from(t->url), where = mcp_str_from(to);

    if (t->target.no_redirect)
        snprintf(why, room, "the server redirects a request that may contain secrets");
    else if (mcp__url_check(where, NULL) < 0)
        snprintf(why, room, "the server redirects to something that is no http:// or https:// URL");
    else if (t->redirects >= MOST_REDIRECTS)
        snprintf(why, room, "the server redirects more than %d times", MOST_REDIRECTS);
    else if (t->method == MCP__POST && t->answer.status == 303)
        snprintf(why, room, "the server redirects a POST to a page (HTTP status 303)");
    else if (strncmp(t->url, "https:", 6) == 0 && strncmp(to, "https:", 6) != 0)
        snprintf(why, room, "the server redirects from https to http");
    else if (t->target.public_only && mcp__url_is_private(where, t->target.proxy))
        snprintf(why, room, "the server redirects to a private address");
    else if (!t->target.any_origin && !mcp__url_same_origin(from, where))
        snprintf(why, room, "the server redirects to another origin: %.150s", to);
    else
        return true;
    return false;
}

static int follow(mcp__transfer *t, const char *to)
{
    const mcp__curl *f = &t->multi->f;
    char *url = mcp__strdup(&t->multi->loop->allocator, mcp_str_from(to));

    if (!url)
        return MCP_ENOMEM;
    mcp__release(&t->multi->loop->allocator, t->url);
    t->url = url;
    t->redirects++;
    t->begun = false;
    f->curl_multi_remove_handle(t->multi->handle, t->easy);
    t->added = false;
    f->curl_easy_setopt(t->easy, CURLOPT_URL, t->url);
    mcp__list_remove(&t->link);
    mcp__list_append(&t->multi->waiting, &t->link);
    mcp__multi_note(t->multi);
    return MCP_OK;
}

static void redirect(mcp__transfer *t)
{
    char why[256], *to = NULL;
    int rc = MCP_EACCESS;

    t->multi->f.curl_easy_getinfo(t->easy, CURLINFO_REDIRECT_URL, &to);
    if (!to) {
        rc = MCP_EPROTOCOL;
        snprintf(why, sizeof(why), "the server redirects to nowhere (HTTP status %d)",
                 t->answer.status);
    } else if (may_redirect(t, to, why, sizeof(why))) {
        rc = follow(t, to);
        snprintf(why, sizeof(why), "%s", mcp_error_text(rc));
    }
    if (rc != MCP_OK)
        finish(t, rc, why);
}

void mcp__transfer_over(mcp__transfer *t, CURLcode code)
{
    char text[CURL_ERROR_SIZE];

    if (t->events && code == CURLE_OK && !t->head_reported && is_redirect(t->answer.status)) {
        redirect(t);
        return;
    }
    if (t->satisfied)
        code = CURLE_OK;
    if (t->begun && code == CURLE_COULDNT_CONNECT)
        t->failed = MCP_ECLOSED; /* libcurl sent the request again, but could not connect */
    if (code == CURLE_OK)
        t->failed = MCP_OK; /* such as MCP_EACCESS for one of several addresses */
    t->ended_well = code == CURLE_OK && !t->satisfied;
    snprintf(text, sizeof(text), "%s", text_of(t, code));
    finish(t, t->failed ? t->failed : code_of(code), code == CURLE_OK ? NULL : text);
}

void mcp__transfer_fail(mcp__transfer *t, int rc)
{
    finish(t, rc, mcp_error_text(rc));
}

void mcp__transfer_abandon(mcp__transfer *t)
{
    if (!t)
        return;
    t->events = NULL;
    mcp__list_remove(&t->link);
    mcp__list_append(&t->multi->dead, &t->link);
    mcp__multi_note(t->multi);
}

/* ---- the callbacks of libcurl ---------------------------------------------------------------- */

bool mcp__transfer_set_callbacks(mcp__transfer *t)
{
    const mcp__curl *f = &t->multi->f;

    return f->curl_easy_setopt(t->easy, CURLOPT_PRIVATE, t) == CURLE_OK &&
           f->curl_easy_setopt(t->easy, CURLOPT_ERRORBUFFER, t->error) == CURLE_OK &&
           f->curl_easy_setopt(t->easy, CURLOPT_HEADERFUNCTION, on_header) == CURLE_OK &&
           f->curl_easy_setopt(t->easy, CURLOPT_HEADERDATA, t) == CURLE_OK &&
           f->curl_easy_setopt(t->easy, CURLOPT_WRITEFUNCTION, on_bytes) == CURLE_OK &&
           f->curl_easy_setopt(t->easy, CURLOPT_WRITEDATA, t) == CURLE_OK &&
           f->curl_easy_setopt(t->easy, CURLOPT_OPENSOCKETFUNCTION, open_socket) == CURLE_OK &&
           f->curl_easy_setopt(t->easy, CURLOPT_OPENSOCKETDATA, t) == CURLE_OK &&
           f->curl_easy_setopt(t->easy, CURLOPT_PREREQFUNCTION, on_request) == CURLE_OK &&
           f->curl_easy_setopt(t->easy, CURLOPT_PREREQDATA, t) == CURLE_OK;
}
