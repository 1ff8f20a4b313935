/* replay.c: runs a fuzz target on files, without a fuzzer.
 *
 * Each argument is a file or a folder of files. A path that does not exist counts as an empty
 * folder. Each input is copied to a block of exactly its size, so that the address sanitizer
 * detects a read beyond its end.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int run_bytes(FILE *file, size_t size)
{
    uint8_t *data = malloc(size ? size : 1);
    if (!data)
        return -1;
    size_t got = fread(data, 1, size, file);
    if (got == size)
        LLVMFuzzerTestOneInput(data, size);
    free(data);
    return got == size ? 0 : -1;
}

static int run_file(const char *path, const struct stat *st)
{
    FILE *file = fopen(path, "rb");
    if (!file || run_bytes(file, (size_t)st->st_size) < 0) {
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
        exit(1);
    }
    fclose(file);
    return 1;
}

/* Returns the number of inputs that were run. */
static int run_path(const char *path)
{
    struct stat st;
    if (stat(path, &st) < 0)
        return 0;
    if (!S_ISDIR(st.st_mode))
        return run_file(path, &st);

    struct dirent **entries;
    int count = scandir(path, &entries, NULL, alphasort), ran = 0;
    for (int i = 0; i < count; i++) {
        char child[4096];
        snprintf(child, sizeof(child), "%s/%s", path, entries[i]->d_name);
        if (entries[i]->d_name[0] != '.')
            ran += run_path(child);
        free(entries[i]);
    }
    if (count >= 0)
        free(entries);
    return ran;
}

int main(int argc, char **argv)
{
    int ran = 0;
    for (int i = 1; i < argc; i++)
        ran += run_path(argv[i]);
    printf("%d inputs\n", ran);
    if (ran == 0)
        printf("skipped: there are no inputs yet\n");
    return ran ? 0 : 77;
}
