/* member_text.c: the unchanged text of the members of the message that is being received. */
#include "channel/channel.h"

mcp_str mcp__channel_text_of(const mcp_channel *channel, mcp_str quoted_key)
{
    mcp_str message = channel->text;
    if (channel->element && message.ptr)
        message = mcp__json_text_at(message, channel->element - 1);
    return message.ptr ? mcp__json_text_get(message, channel->members, quoted_key) : message;
}
