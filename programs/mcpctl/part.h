/* part.h: parts of a resource: ranges of bytes or lines, or its end. */
#ifndef MCPCTL_PART_H
#define MCPCTL_PART_H

#include "mcpctl.h"

typedef enum part_kind { PART_ALL, PART_BYTES, PART_LINES, PART_TAIL } part_kind;

typedef struct part {
    part_kind kind;
    uint64_t first; /* bytes from 0, lines from 1 */
    uint64_t count; /* UINT64_MAX: up to the end; for PART_TAIL, the number of lines */
    bool from_end;  /* the last `count` bytes */
} part;

/* Reads --range, --lines and --tail. EXIT_OK, or EXIT_USAGE after reporting the error. */
int part_make(const ctl *c, part *ret);

/* Cuts the part out of a complete text. */
mcp_str part_cut(const part *p, mcp_str text);

/* The URI by which the server itself returns this part. It is made from a template that matches the
 * URI and has the variables offset and length, line and lines, or tail, as mcpd's templates do. The
 * caller frees it. NULL: there is none, or the templates could not be read. */
char *part_uri(ctl *c, const part *p, const char *uri);

#endif
