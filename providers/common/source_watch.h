/* source_watch.h: the function of source_watch.c that source.c calls. */
#ifndef COMMON_SOURCE_WATCH_H
#define COMMON_SOURCE_WATCH_H

#include "source.h"

/* Ends all subscriptions. The inotify descriptor is closed with common_close_inotify(). */
void common_source_stop_watching(common_source *s, const mcp_host *host);

#endif
