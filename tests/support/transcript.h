/* transcript.h: the parts of the runner of tests/transcripts (see the README there).
 *
 * transcript.c reads files and drives a channel, transcript_text.c reads eras and expands
 * {{macros}}, transcript_match.c compares messages.
 */
#ifndef MCP_TESTS_TRANSCRIPT_H
#define MCP_TESTS_TRANSCRIPT_H

#include <mcp/base.h>
#include <mcp/json.h>

/* A growing string; without memory the program ends. */
typedef struct text {
    char *ptr;
    size_t len, cap;
} text;

void text_add(text *t, const char *bytes, size_t len);
void text_set(text *t, const char *bytes, size_t len);
void text_free(text *t);

/* What macros depend on. */
typedef struct scene {
    const char *revision; /* "2026-07-28", …; "none" before any handshake */
    bool modern;
    text cursor; /* the nextCursor seen last */
    text state;  /* the requestState seen last */
    text task;   /* the taskId seen last */
} scene;

/* The revisions that are served, newest first. The first one may be another than transcripts
 * mention. */
enum { MAX_REVISIONS = 8 };
extern const char *revisions[];

/* "era modern", "era legacy 2025-06-18", "era both", "era all", "era none": the revisions to run
 * in, at most MAX_REVISIONS. `words` is taken apart. */
size_t read_era(char *words, const char **ret);

/* Expands the macros of one line. False: *problem says what is wrong. */
bool expand(const scene *at, const char *line, text *ret, const char **problem);

/* Whether a message is as expected; else *why says where it is not. `expected` is JSON with
 * `...`. */
bool matches(const char *expected, mcp_str message, text *why);

#endif
