/* Lines of the audit log about refused requests: at most ten in a second, and then how many have none. */
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

#include "audit.h"

static int64_t second;

static int64_t now(void)
{
    return second;
}

static void refuse(audit *a, int times)
{
    for (int i = 0; i < times; i++)
        audit_refused(a, MCP_OPTIONS(mcp_http_record, .client = "192.0.2.1",
                                     .http_method = MCP_STR("GET"), .path = MCP_STR("/"),
                                     .reason = MCP_STR("NO_PATH"), .status = 404));
}

static void serve(audit *a)
{
    audit_request(MCP_OPTIONS(mcp_audit_record, .method = MCP_STR("tools/list")), a);
}

/* Returns what each line since the last call is about: "r" for a refusal, "q" for a request, or the number
 * of refusals without a line. */
static const char *lines(FILE *file)
{
    static char text[1024];
    char line[4096], *at;
    size_t len = 0;
    text[0] = '\0';
    while (fgets(line, sizeof(line), file) && len < sizeof(text) - 20) {
        if ((at = strstr(line, "\"left_out\":")) != NULL)
            len += (size_t)snprintf(text + len, 20, "%d", atoi(at + strlen("\"left_out\":")));
        else
            text[len++] = strstr(line, "no path") ? 'r' : 'q';
        text[len] = '\0';
    }
    clearerr(file);
    return text;
}

static void test_flood(void **state)
{
    (void)state;
    char path[] = "/tmp/refusalsXXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    FILE *file = fdopen(fd, "r");
    audit a = {.fd = -1};
    mcp_error error;
    assert_int_equal(audit_open(&a, path, &error), MCP_OK);
    a.clock = now;
    second = 100;
    refuse(&a, 10);
    assert_string_equal(lines(file), "rrrrrrrrrr");
    refuse(&a, 500);
    assert_string_equal(lines(file), "");
    serve(&a); /* of requests that are served, none is left out */
    serve(&a);
    assert_string_equal(lines(file), "500qq");
    refuse(&a, 3);
    serve(&a);
    assert_string_equal(lines(file), "q"); /* one such line in a second */
    second++;
    refuse(&a, 12);
    assert_string_equal(lines(file), "3rrrrrrrrrr");
    audit_close(&a);
    assert_string_equal(lines(file), "2");
    fclose(file);
    unlink(path);
}

/* What is not refused, or not to be logged, has no line. */
static void test_others(void **state)
{
    (void)state;
    audit a = {.fd = -1};
    refuse(NULL, 1);
    refuse(&a, 1);
    assert_int_equal(a.n_refusals, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_flood), cmocka_unit_test(test_others)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
