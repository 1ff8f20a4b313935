/* filter.h: which commits a log shows: those of an author, with a text in their message, or of a
 * time.
 *
 * As in git, the time is that of the committer, and a commit that is too old ends its line of
 * history, so that old commits are not examined.
 */
#ifndef REPO_FILTER_H
#define REPO_FILTER_H

#include "provider.h"

typedef struct repo_filter {
    mcp_str author, text; /* in lower case; empty for every commit */
    int64_t since, until; /* in seconds */
    common_buffer room;   /* of the two strings, and of the author that is compared */
    bool dated;           /* one of the two times is given */
} repo_filter;

/* Reads ?author=, ?text=, ?since= and ?until=. *ret must be freed, also after a failure. If a date
 * is invalid, makes the job fail and returns MCP_OK. */
int repo_filter_take(repo_job *job, repo_filter *ret);
void repo_filter_free(repo_filter *f);

/* Returns whether the log shows the commit, whose texts are converted for it. *rc is MCP_OK or
 * MCP_ENOMEM. */
bool repo_filter_passes(repo_filter *f, repo_commit *c, const mcp_allocator *alloc, int *rc);

/* Parses "YYYY-MM-DD" or "YYYY-MM-DDThh:mm:ss" with "Z", "+hh:mm", or nothing for UTC. A date
 * without a time is its first second, or its last one with `end`. Returns false if it is invalid. */
bool repo_date(mcp_str text, bool end, int64_t *ret);

#endif
