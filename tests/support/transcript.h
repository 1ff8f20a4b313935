/* transcript.h: the parts of the runner of tests/transcripts (see the README there).
 *
 * transcript.c reads files and drives a channel, transcript_text.c reads eras and expands
 * {{macros}}, transcript_match.c compares messages.
 */
#ifndef MCP_TESTS_TRANSCRIPT_H
#define MCP_TESTS_TRANSCRIPT_H

#include <mcp/base.h>
#include <mcp/json.h>

/* A growing string. If memory is exhausted, the program ends. */
typedef struct text {
    char *ptr;
    size_t len, cap;
} text;

void text_add(text *t, const char *bytes, size_t len);
void text_set(text *t, const char *bytes, size_t len);
void text_free(text *t);

/* The state from which macros are expanded. */
typedef struct scene {
    const char *revision; /* "2026-07-28", …; "none" before any handshake */
    bool modern;
    text cursor; /* the latest nextCursor */
    text state;  /* the latest requestState */
    text task;   /* the latest taskId */
} scene;

/* The supported revisions, newest first. The first one may be newer than the transcripts mention. */
enum { MAX_REVISIONS = 8 };
extern const char *revisions[];

/* Parses a line such as "era modern", "era legacy 2025-06-18", "era both", "era all" or "era none".
 * Stores the revisions to run, at most MAX_REVISIONS, and returns their number. `words` is
 * modified. */
size_t read_era(char *words, const char **ret);

/* Expands the macros of a line. If it returns false, *problem describes the error. */
bool expand(const scene *at, const char *line, text *ret, const char **problem);

/* Returns whether a message is as expected. If not, *why describes the first difference. `expected`
 * is JSON with `...`. */
bool matches(const char *expected, mcp_str message, text *why);

#endif
