/* part.h: a part of a resource: bytes, lines, the end. */
#ifndef MCPCTL_PART_H
#define MCPCTL_PART_H

#include "mcpctl.h"

typedef enum part_kind { PART_ALL, PART_BYTES, PART_LINES, PART_TAIL } part_kind;

typedef struct part {
    part_kind kind;
    uint64_t first; /* a byte from 0, a line from 1 */
    uint64_t count; /* UINT64_MAX: up to the end; of PART_TAIL the lines */
    bool from_end;  /* the last `count` bytes */
} part;

/* From --range, --lines, --tail. EXIT_OK, or EXIT_USAGE after saying what is wrong. */
int part_make(const ctl *c, part *ret);

/* The part of a text that is here as a whole. */
mcp_str part_cut(const part *p, mcp_str text);

/* The URI under which the server itself gives this part: of a template that the URI matches and
 * that has the variables offset and length, line and lines, or tail, as mcpd's have. NULL: it has
 * none, or it could not be asked. To be freed. */
char *part_uri(ctl *c, const part *p, const char *uri);

#endif
