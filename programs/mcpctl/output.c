/* output.c: what goes to stdout, on a terminal and elsewhere. */
#include <errno.h>

#include "mcpctl.h"

void put_field(const ctl *c, mcp_str s)
{
    if (c->out_is_terminal)
        text_put(stdout, s, TEXT_LINE);
    else
        text_put_field(stdout, s);
}

void put_json_text(const ctl *c, mcp_str json)
{
    if (c->out_is_terminal)
        text_put_json(stdout, json);
    else
        fwrite(json.ptr, 1, json.len, stdout);
}

bool flush_stdout(ctl *c)
{
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout))
        return true;
    if (!c->write_errno)
        c->write_errno = errno;
    return false;
}
