/* confirm_text.h: the text of the question of confirm.h. */
#ifndef COMMON_CONFIRM_TEXT_H
#define COMMON_CONFIRM_TEXT_H

#include "buffer.h"
#include "confirm.h"

/* Returns whether a URI is longer than can be shown whole. A part of one must not be confirmed. */
bool confirm_is_too_long(const common_change *what);
/* Appends the text with a NUL. Returns MCP_OK or MCP_ENOMEM. */
int confirm_put_text(common_buffer *to, const common_change *what);

#endif
