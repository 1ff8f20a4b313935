/* address.c: see address.h. */
#define _GNU_SOURCE
#include "address.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEFAULT_PORT = 6379, DEFAULT_ENTRIES = 10000 };

int redis_explain(mcp_error *error, int code, const char *format, ...)
{
    va_list args;
    if (!error)
        return code;
    va_start(args, format);
    error->code = code;
    error->offset = 0;
    vsnprintf(error->text, sizeof(error->text), format, args);
    va_end(args);
    return code;
}

/* Reads a number of 1 to 9 digits that fills the text. */
static bool number(const char *text, size_t len, long min, long max, long *ret)
{
    char digits[10] = "";
    if (!len || len >= sizeof(digits) || strspn(text, "0123456789") < len)
        return false;
    memcpy(digits, text, len);
    *ret = strtol(digits, NULL, 10);
    return *ret >= min && *ret <= max;
}

static bool copy(char *to, size_t room, const char *text, size_t len)
{
    if (!len || len >= room || memchr(text, ' ', len))
        return false;
    memcpy(to, text, len);
    to[len] = 0;
    return true;
}

static bool db(redis_address *a, const char *text, size_t len)
{
    long value;
    bool ok = number(text, len, 0, 65535, &value);
    a->db = ok ? (int)value : 0;
    return ok;
}

static bool entries(redis_address *a, const char *text, size_t len)
{
    long value;
    bool ok = number(text, len, 100, 10000000, &value);
    a->max_entries = ok ? (unsigned)value : 0;
    return ok;
}

static bool tls(redis_address *a, const char *text, size_t len)
{
    a->tls = len == 1 && *text == '1';
    return a->tls;
}

static bool ca(redis_address *a, const char *text, size_t len)
{
    return copy(a->ca, sizeof(a->ca), text, len);
}

static bool cert(redis_address *a, const char *text, size_t len)
{
    return copy(a->cert, sizeof(a->cert), text, len);
}

static bool key(redis_address *a, const char *text, size_t len)
{
    return copy(a->key, sizeof(a->key), text, len);
}

static const struct {
    const char *name;
    bool (*take)(redis_address *a, const char *text, size_t len);
} known[] = {{"db=", db}, {"max_entries=", entries}, {"tls=", tls},
             {"ca=", ca}, {"cert=", cert},           {"key=", key}};

static bool option(redis_address *a, const char *text, size_t len)
{
    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
        size_t name = strlen(known[i].name);
        if (len > name && strncmp(text, known[i].name, name) == 0)
            return known[i].take(a, text + name, len - name);
    }
    return false;
}

static int options(redis_address *a, const char *text, mcp_error *error)
{
    while (*text) {
        size_t len = strcspn(text, "&");
        if (!option(a, text, len))
            return redis_explain(error, MCP_EINVAL,
                                 "redis: the option \"%.*s\" is not db=N, max_entries=N "
                                 "(100 to 10000000), tls=1, ca=FILE, cert=FILE or key=FILE",
                                 (int)(len < 100 ? len : 100), text);
        text += len;
        text += *text == '&';
    }
    return MCP_OK;
}

/* "HOST", "HOST:PORT", "ADDRESS" or "[ADDRESS]:PORT", where an ADDRESS of version 6 has several colons. */
static bool endpoint(redis_address *a, const char *text, size_t len)
{
    const char *end = text + len, *host = text, *host_end = end, *port = NULL;
    const char *colon = memchr(text, ':', len);
    if (len && *text == '[') {
        host++;
        host_end = memchr(text, ']', len);
        if (!host_end || (host_end + 1 < end && host_end[1] != ':'))
            return false;
        port = host_end + 1 < end ? host_end + 2 : NULL;
    } else if (colon && !memchr(colon + 1, ':', (size_t)(end - colon - 1))) {
        host_end = colon;
        port = colon + 1;
    }
    long value = DEFAULT_PORT;
    if (port && !number(port, (size_t)(end - port), 1, 65535, &value))
        return false;
    a->port = (int)value;
    return copy(a->host, sizeof(a->host), host, (size_t)(host_end - host));
}

int redis_address_read(const char *text, redis_address *ret, mcp_error *error)
{
    redis_address a = {.max_entries = DEFAULT_ENTRIES};
    size_t len = strcspn(text, "?");
    bool ok = *text == '/' ? copy(a.path, sizeof(a.path), text, len) : endpoint(&a, text, len);
    if (!ok)
        return redis_explain(error, MCP_EINVAL,
                             "redis: \"%.*s\" is not HOST, HOST:PORT, [ADDRESS]:PORT or /PATH",
                             (int)(len < 100 ? len : 100), text);
    int rc = text[len] ? options(&a, text + len + 1, error) : MCP_OK;
    bool files = a.ca[0] || a.cert[0] || a.key[0];
    if (rc == MCP_OK && ((files && !a.tls) || (a.tls && a.path[0]) || !a.cert[0] != !a.key[0]))
        rc = redis_explain(error, MCP_EINVAL,
                           "redis: ca, cert and key need tls=1, cert and key need each other, and "
                           "a Unix socket has no TLS");
    if (rc == MCP_OK)
        *ret = a;
    return rc;
}
