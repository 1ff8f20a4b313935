/* fuzz_sqlite_file.c: hostile database files and SQL. Every request gets exactly one answer, within
 * its time limit.
 *
 * The input is a list of parts. Each begins with a letter and ends with "|||":
 *   s  SQL that makes the database     x  bytes of its file, from the offset in the first two bytes
 *   u  a URI to read                   q  SQL for the query tool
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <sqlite.h>
#include <sqlite3.h>

#include "asking.h"

enum { MAX_PARTS = 16, STEPS = 20000, MAX_FILE = 1 << 20 };

static char path[] = "/tmp/mcp-fuzz-XXXXXX";
static int made = -1;

static int mount(mcp_server *s, mcp_error *error)
{
    return mcp_sqlite_mount(s,
                            MCP_OPTIONS(mcp_sqlite_options, .path = path, .name = "d",
                                        .timeout_ms = 100, .max_bytes = 65536),
                            error);
}

static void end(void)
{
    unlink(path);
}

/* ---- the database -------------------------------------------------------------------------------------------- */

static int stop(void *user)
{
    return --*(int *)user <= 0;
}

/* An authorizer that keeps the SQL from creating or opening any other file. */
static int allow(void *user, int action, const char *a, const char *b, const char *c, const char *d)
{
    static const char *const harmless[] = {"writable_schema", "page_size", "auto_vacuum",
                                           "encoding", "user_version"};
    (void)user, (void)b, (void)c, (void)d;
    if (action == SQLITE_ATTACH || action == SQLITE_DETACH)
        return SQLITE_DENY;
    for (size_t i = 0; action == SQLITE_PRAGMA && i < sizeof(harmless) / sizeof(*harmless); i++)
        if (a && sqlite3_stricmp(a, harmless[i]) == 0)
            return SQLITE_OK;
    return action == SQLITE_PRAGMA ? SQLITE_DENY : SQLITE_OK;
}

static sqlite3 *new_database(int *steps)
{
    sqlite3 *db;
    *steps = STEPS / 100;
    if (sqlite3_open(":memory:", &db) != SQLITE_OK ||
        sqlite3_exec(db, "PRAGMA page_size = 512", NULL, NULL, NULL) != SQLITE_OK)
        abort();
    sqlite3_progress_handler(db, 100, stop, steps);
    sqlite3_set_authorizer(db, allow, NULL);
    sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 0, NULL);
    sqlite3_limit(db, SQLITE_LIMIT_LENGTH, MAX_FILE);
    sqlite3_limit(db, SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 20);
    return db;
}

static void run_part(sqlite3 *db, mcp_str sql, int *steps)
{
    char *text = strndup(sql.ptr, sql.len);
    if (text && !strcasestr(text, "vacuum"))
        sqlite3_exec(db, text, NULL, NULL, NULL);
    *steps = STEPS / 100;
    free(text);
}

static void change(unsigned char *file, size_t size, mcp_str part)
{
    if (part.len < 3 || size == 0)
        return;
    size_t at = ((size_t)(unsigned char)part.ptr[0] << 8 | (unsigned char)part.ptr[1]) % size;
    size_t len = part.len - 2 < size - at ? part.len - 2 : size - at;
    memcpy(file + at, part.ptr + 2, len);
}

static void write_file(const unsigned char *file, size_t size)
{
    if (ftruncate(made, 0) < 0 || pwrite(made, file, size, 0) != (ssize_t)size)
        abort();
}

static size_t cut(mcp_str input, mcp_str part[MAX_PARTS])
{
    size_t n = 0;
    while (input.len && n < MAX_PARTS) {
        const char *at = memmem(input.ptr, input.len, "|||", 3);
        size_t len = at ? (size_t)(at - input.ptr) : input.len;
        if (len > 1 && len <= LONGEST_REST)
            part[n++] = (mcp_str){input.ptr, len};
        len += at ? 3 : 0;
        input = (mcp_str){input.ptr + len, input.len - len};
    }
    return n;
}

static mcp_str text_of(mcp_str part)
{
    return (mcp_str){part.ptr + 1, part.len - 1};
}

static void make_database(const mcp_str *part, size_t n)
{
    int steps;
    sqlite3_int64 size = 0;
    sqlite3 *db = new_database(&steps);
    for (size_t i = 0; i < n; i++)
        if (*part[i].ptr == 's')
            run_part(db, text_of(part[i]), &steps);
    sqlite3_set_authorizer(db, NULL, NULL);
    unsigned char *file = sqlite3_serialize(db, "main", &size, 0);
    for (size_t i = 0; file && i < n; i++)
        if (*part[i].ptr == 'x')
            change(file, (size_t)size, text_of(part[i]));
    write_file(file ? file : (const unsigned char *)"", file ? (size_t)size : 0);
    sqlite3_free(file);
    sqlite3_close(db);
}

/* ---- requests -------------------------------------------------------------------------------- */

static void query(mcp_str sql)
{
    mcp_json_writer *w = begin_request("tools/call");
    mcp_json_put_string(w, "name", "query_sqlite_d");
    mcp_json_key(w, "arguments");
    mcp_json_begin_object(w);
    mcp_json_put_str(w, "sql", sql);
    mcp_json_end(w);
    end_request(w);
}

static void ask_all(const mcp_str *part, size_t n)
{
    static const char *const always[] = {"", "t", "t/rows", "t/row/1", "v/rows", "t/cell/a/1"};
    end_request(begin_request("resources/list"));
    for (size_t i = 0; i < sizeof(always) / sizeof(*always); i++)
        check_answer("sqlite://d/", mcp_str_from(always[i]));
    for (size_t i = 0; i < n; i++) {
        if (*part[i].ptr == 'u')
            check_answer("sqlite://d/", text_of(part[i]));
        if (*part[i].ptr == 'q')
            query(text_of(part[i]));
    }
}

static int try_mount(void)
{
    mcp_error error;
    mcp_server *s;
    if (mcp_server_new(MCP_OPTIONS(mcp_server_options, .name = "f", .version = "1"), &s, &error))
        abort();
    int rc = mount(s, &error);
    mcp_server_free(s);
    return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    mcp_str part[MAX_PARTS];
    size_t n = cut((mcp_str){(const char *)data, size}, part);
    if (made < 0 && ((made = mkstemp(path)) < 0 || atexit(end) != 0))
        abort();
    make_database(part, n);
    if (try_mount() != MCP_OK)
        return 0;
    make_server(mount);
    ask_all(part, n);
    close_server();
    return 0;
}
