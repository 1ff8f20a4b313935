/* source_watch.h: the part of source.h that source.c needs of source_watch.c. */
#ifndef COMMON_SOURCE_WATCH_H
#define COMMON_SOURCE_WATCH_H

#include "source.h"

void common_source_stop_watching(common_source *s);

#endif
