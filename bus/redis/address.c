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

static bool option(redis_address *a, const char *text, size_t len)
{
    static const char db[] = "db=", entries[] = "max_entries=";
    long value;
    if (strncmp(text, db, sizeof(db) - 1) == 0 &&
        number(text + sizeof(db) - 1, len - (sizeof(db) - 1), 0, 65535, &value))
        return a->db = (int)value, true;
    if (strncmp(text, entries, sizeof(entries) - 1) == 0 &&
        number(text + sizeof(entries) - 1, len - (sizeof(entries) - 1), 100, 10000000, &value))
        return a->max_entries = (unsigned)value, true;
    return false;
}

static int options(redis_address *a, const char *text, mcp_error *error)
{
    while (*text) {
        size_t len = strcspn(text, "&");
        if (!option(a, text, len))
            return redis_explain(error, MCP_EINVAL,
                                 "redis: the option \"%.*s\" is neither db=N nor "
                                 "max_entries=N (100 to 10000000)",
                                 (int)(len < 100 ? len : 100), text);
        text += len;
        text += *text == '&';
    }
    return MCP_OK;
}

static bool copy(char *to, size_t room, const char *text, size_t len)
{
    if (!len || len >= room || memchr(text, ' ', len))
        return false;
    memcpy(to, text, len);
    to[len] = 0;
    return true;
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
    if (rc == MCP_OK)
        *ret = a;
    return rc;
}
