/* picture.h: images, on terminals that have a protocol for them. The terminal decodes what it gets; with
 * sixel, the program img2sixel does so before. Here only the sizes are read.
 */
#ifndef BROWSE_PICTURE_H
#define BROWSE_PICTURE_H

#include <stdbool.h>
#include <stdio.h>

#include <mcp/base.h>

typedef enum picture_protocol {
    PICTURE_NONE,
    PICTURE_KITTY, /* PNG only */
    PICTURE_ITERM,
    PICTURE_SIXEL,
} picture_protocol;

/* The protocol of this process. */
extern picture_protocol picture_way;

/* Gets a protocol by its name; "auto" or NULL is what the environment says about the terminal. Returns
 * false if there is no such name. */
bool picture_choose(const char *name, picture_protocol *ret);

typedef struct picture {
    char *bytes;
    size_t len;
    unsigned width, height; /* in pixels */
    unsigned long id;       /* another one for each picture of this process */
    char *sixels;           /* for the size in pixels below; NULL if it was not converted */
    unsigned sixel_width, sixel_height;
} picture;

/* Gets the size of a PNG, JPEG, GIF or WebP. Returns false for other data. */
bool picture_size(mcp_str bytes, unsigned *width, unsigned *height);
/* Makes a picture of the bytes, which it then owns, if the terminal can show it. Otherwise returns NULL, and
 * the bytes are the caller's. */
picture *picture_new(char *bytes, size_t len);
void picture_free(picture *p);

/* The size of a cell in pixels. */
typedef struct picture_cell {
    unsigned width, height;
} picture_cell;
/* Gets the rows and columns that a picture takes, which keep its proportions. */
void picture_fit(const picture *p, picture_cell cell, size_t most_rows, size_t most_columns,
                 size_t *rows, size_t *columns);

/* Writes the commands that show it in these rows and columns; the cursor stays where it is. */
void picture_put(FILE *to, picture *p, picture_cell cell, size_t row, size_t column, size_t rows,
                 size_t columns);
/* Writes the command that removes all pictures, if overwriting them is not enough. */
void picture_remove(FILE *to);

#endif
