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
    void *owner;   /* NULL if it has left */
    mcp__buf text; /* has the message in it */
};

static void free_job(mcp__parse_job *job)
{
    mcp__buf_free(&job->text);
    mcp__release(&job->loop->allocator, job);
}

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
    free_job(job);
}

/* Copying a message of megabytes takes milliseconds, in which the loop would do nothing else. */
static mcp_str take(mcp__parse_job *job, mcp_str message, mcp__buf *holder)
{
    mcp__buf_init(&job->text, &job->loop->allocator, 0);
    if (!holder) {
        mcp__buf_str(&job->text, message);
        return mcp__buf_view(&job->text);
    }
    mcp__buf empty = job->text;
    job->text = *holder;
    *holder = empty;
    return message;
}

/* Gives the buffer back to a caller that goes on without the job. */
static mcp__parse_job *give_up(mcp__parse_job *job, mcp__buf *holder)
{
    if (holder) {
        *holder = job->text;
        mcp__buf_init(&job->text, &job->loop->allocator, 0);
    }
    free_job(job);
    return NULL;
}

mcp__parse_job *mcp__parse_elsewhere(mcp_loop *loop, const mcp_channel *channel, mcp_str message,
                                     mcp__buf *holder,
                                     void (*done)(mcp__parse_job *job, void *owner), void *owner)
{
    if (message.len < LONG || message.len > mcp_channel_max_message(channel))
        return NULL;
    mcp__parse_job *job = mcp__alloc(&loop->allocator, sizeof(*job));
    if (!job)
        return NULL;
    *job = (mcp__parse_job){.loop = loop, .done = done, .owner = owner};
    mcp_str text = take(job, message, holder);
    if (job->text.failed)
        return give_up(job, holder);
    mcp__parsing_begin(&job->parsing, channel, text);
    if (mcp__host_work(run, finished, job, loop) == MCP_OK)
        return job;
    return give_up(job, holder);
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
