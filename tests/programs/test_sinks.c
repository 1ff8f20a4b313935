/* Every text sink gets every character that Unicode calls invisible or a control, and bytes that are not
 * UTF-8. What it writes has none of them, whatever wrote the text. */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <common/text.h>
#include <mcp/io.h>

#include "audit.h"
#include "log.h"

enum { LAST = 0x10ffff, AT_ONCE = 8 };

/* ---- the sinks; each writes to stderr -------------------------------------------------------- */

static void put_line(mcp_str text)
{
    text_put(stderr, text, TEXT_LINE);
}

static void put_block(mcp_str text)
{
    text_put(stderr, text, TEXT_BLOCK);
}

static void put_cell(mcp_str text)
{
    text_put_cell(stderr, text, 300);
}

static void put_wrapped(mcp_str text)
{
    text_put_wrapped(stderr, text, TEXT_LINE, (text_lines){.width = 40, .indent = 4});
}

static void put_word(mcp_str text)
{
    text_put_word(stderr, text.ptr);
}

static void put_said(mcp_str text)
{
    say("%s", text.ptr);
    hint("%s", text.ptr);
}

static void put_log(mcp_str text)
{
    log_line("error", text.ptr, NULL);
    log_notice(text.ptr);
}

static void put_request(mcp_str text)
{
    log_request(&(mcp_http_record){.size = sizeof(mcp_http_record),
                                   .peer = text.ptr,
                                   .principal = text.ptr,
                                   .http_method = text,
                                   .path = text,
                                   .status = 200,
                                   .method = text,
                                   .traceparent = text,
                                   .client = text.ptr,
                                   .name = text},
                NULL);
}

static void put_audit(mcp_str text)
{
    audit a = {.fd = STDERR_FILENO};
    audit_request(&(mcp_audit_record){.size = sizeof(mcp_audit_record),
                                      .caller = text.ptr,
                                      .method = text,
                                      .name = text,
                                      .source = text,
                                      .reason = text},
                  &a);
    audit_refused(&a, &(mcp_http_record){.size = sizeof(mcp_http_record),
                                         .refused = true,
                                         .client = text.ptr,
                                         .http_method = text,
                                         .path = text,
                                         .reason = text,
                                         .denied_issuer = text,
                                         .denied_key = text,
                                         .denied_principal = text});
}

static mcp_loop *loop;

/* The library's own log, which programs get that have none. */
static void put_loop(mcp_str text)
{
    mcp_loop_set_log_level(loop, "error");
    mcp_loop_host(loop)->log("error", text.ptr, mcp_loop_host(loop)->user);
}

static const struct sink {
    const char *name;
    void (*put)(mcp_str text);
    const char *format; /* of the log, or NULL */
} sinks[] = {
    {"a line of a terminal", put_line, NULL},
    {"a text of a terminal", put_block, NULL},
    {"a cell of a table", put_cell, NULL},
    {"a wrapped line", put_wrapped, NULL},
    {"a word of a command", put_word, NULL},
    {"a message of a program", put_said, NULL},
    {"the log", put_log, "text"},
    {"the log as JSON", put_log, "json"},
    {"a request in the log", put_request, "text"},
    {"a request in the log as JSON", put_request, "json"},
    {"the audit log", put_audit, NULL},
    {"the log of the library", put_loop, NULL},
};

/* ---- what was written ------------------------------------------------------------------------ */

static FILE *written;
static int stderr_before;
static pcre2_code *hidden;
static pcre2_match_data *found;

/* A line end or a tab may be part of the form of a line, unless the text had it. */
static void check(const struct sink *s, mcp_str text)
{
    static char out[1 << 16];
    fflush(stderr);
    size_t len = (size_t)lseek(STDERR_FILENO, 0, SEEK_END);
    len = len < sizeof(out) ? len : sizeof(out) - 1;
    len = (size_t)pread(fileno(written), out, len, 0);
    assert_int_equal(ftruncate(STDERR_FILENO, 0), 0);
    lseek(STDERR_FILENO, 0, SEEK_SET);
    out[len] = '\0';
    int rc = pcre2_match(hidden, (PCRE2_SPTR)out, len, 0, 0, found, NULL);
    const char *begin = strstr(out, "begin");
    if (rc == PCRE2_ERROR_NOMATCH && begin && strstr(begin, "end"))
        return;
    dup2(stderr_before, STDERR_FILENO);
    fail_msg("%s: %d for \"%.*s\": %s", s->name, rc, (int)text.len, text.ptr, out);
}

static void feed(const char *text, size_t len)
{
    for (size_t i = 0; i < sizeof(sinks) / sizeof(*sinks); i++) {
        log_configure(&(settings){.log_format = sinks[i].format ? sinks[i].format : "text",
                                  .log_level = "info"});
        sinks[i].put((mcp_str){text, len});
        check(&sinks[i], (mcp_str){text, len});
    }
}

static size_t encode(unsigned code, char *to)
{
    size_t more = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    static const unsigned char leads[] = {0, 0xc0, 0xe0, 0xf0};
    to[0] = (char)(leads[more] | code >> 6 * more);
    for (size_t i = 1; i <= more; i++)
        to[i] = (char)(0x80 | (code >> 6 * (more - i) & 0x3f));
    return more + 1;
}

/* Replaces stderr with a file. */
static void begin(void)
{
    int error;
    size_t at;
    stderr_before = dup(STDERR_FILENO);
    assert_int_equal(mcp_loop_new(NULL, &loop, NULL), MCP_OK);
    written = tmpfile();
    assert_non_null(written);
    assert_true(dup2(fileno(written), STDERR_FILENO) >= 0);
    hidden = pcre2_compile((PCRE2_SPTR) "[^\\P{Cc}\\n]|[\\p{Cf}\\p{Zl}\\p{Zp}"
                                        "\\p{Default_Ignorable_Code_Point}]",
                           PCRE2_ZERO_TERMINATED, PCRE2_UTF, &error, &at, NULL);
    assert_non_null(hidden);
    found = pcre2_match_data_create_from_pattern(hidden, NULL);
}

static void end(void)
{
    dup2(stderr_before, STDERR_FILENO);
    close(stderr_before);
    mcp_loop_free(loop);
    fclose(written);
    pcre2_match_data_free(found);
    pcre2_code_free(hidden);
}

static void test_characters(void **state)
{
    char text[128] = "begin";
    size_t len = 5, n = 0, all = 0;
    (void)state;
    begin();
    for (unsigned code = 1; code <= LAST; code++) {
        char one[4];
        if ((code >= 0xd800 && code <= 0xdfff) || code == '\n' || code == '\t')
            continue;
        size_t size = encode(code, one);
        if (pcre2_match(hidden, (PCRE2_SPTR)one, size, 0, 0, found, NULL) < 0)
            continue;
        memcpy(text + len, one, size);
        len += size;
        all++;
        if (++n < AT_ONCE && code < LAST)
            continue;
        memcpy(text + len, "end", 4);
        feed(text, len + 3);
        len = 5, n = 0;
    }
    end();
    assert_true(all > 4000);
}

static void test_bytes(void **state)
{
    static const char *const broken[] = {
        "begin\xff\xfe\x80\xbf\xc0\x80"
        "end", /* no character begins with them; overlong */
        "begin\xc2"
        "end", /* cut off */
        "begin\xe2\x80"
        "end",
        "begin\xf0\x9f\x98"
        "end",
        "begin\xed\xa0\x80\xed\xbf\xbf"
        "end", /* surrogates */
        "begin\xf4\x90\x80\x80\xf8\x88\x80\x80\x80"
        "end", /* beyond Unicode */
        "begin\xe0\x80\x9b\xc1\x9b\xf0\x80\x80\x9b"
        "end", /* ESC, longer than needed */
        "begin\x9b\x90\x9d"
        "end", /* C1 controls in ISO-8859-1 */
    };
    (void)state;
    begin();
    for (size_t i = 0; i < sizeof(broken) / sizeof(*broken); i++)
        feed(broken[i], strlen(broken[i]));
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_characters),
        cmocka_unit_test(test_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
