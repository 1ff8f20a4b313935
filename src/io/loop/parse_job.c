/* parse_job.c: see parse_job.h. Of the messages that were parsed, each turn of the loop gets one,
 * because the engine needs time for them too.
 */
#define _GNU_SOURCE
#include "io/loop/parse_job.h"

#include "channel/channel.h"

enum { LONG = 128 * 1024 }; /* bytes; what is shorter costs less than the way to another thread */

struct mcp__parse_job {
    mcp__parsing parsing;
    mcp_loop *loop;
    void (*done)(mcp__parse_job *job, void *owner);
    void *owner; /* NULL if it has left */
    char text[];
};

static void run(void *arg)
{
    mcp__parse_job *job = arg;

    mcp__parsing_run(&job->parsing);
}

static void wait_a_turn(void *arg)
{
    (void)arg;
}

static void finished(void *arg)
{
    mcp__parse_job *job = arg;
    mcp_loop *loop = job->loop;

    if (job->owner && loop->parsed && mcp__host_work(wait_a_turn, finished, job, loop) == MCP_OK)
        return;
    loop->parsed = true;
    if (!job->parsing.doc && !job->parsing.error.code)
        run(job); /* the work was cancelled */
    if (job->owner)
        job->done(job, job->owner);
    mcp_json_free(job->parsing.doc);
    mcp__release(&loop->allocator, job);
}

mcp__parse_job *mcp__parse_elsewhere(mcp_loop *loop, const mcp_channel *channel, mcp_str message,
                                     void (*done)(mcp__parse_job *job, void *owner), void *owner)
{
    if (message.len < LONG || message.len > mcp_channel_max_message(channel))
        return NULL;
    mcp__parse_job *job = mcp__alloc(&loop->allocator, sizeof(*job) + message.len);
    if (!job)
        return NULL;
    *job = (mcp__parse_job){.loop = loop, .done = done, .owner = owner};
    memcpy(job->text, message.ptr, message.len);
    mcp__parsing_begin(&job->parsing, channel, (mcp_str){job->text, message.len});
    if (mcp__host_work(run, finished, job, loop) == MCP_OK)
        return job;
    mcp__release(&loop->allocator, job);
    return NULL;
}

void mcp__parse_receive(mcp__parse_job *job, mcp_channel *channel, mcp_exchange exchange)
{
    (void)mcp__channel_receive_parsed(channel, exchange, &job->parsing, mcp__loop_now(job->loop));
}

void mcp__parse_leave(mcp__parse_job *job, mcp_channel *channel, mcp_exchange exchange)
{
    if (!job)
        return;
    job->owner = NULL;
    if (channel) /* the thread only reads the text */
        (void)mcp_channel_receive(channel, exchange, job->parsing.text, mcp__loop_now(job->loop));
}
