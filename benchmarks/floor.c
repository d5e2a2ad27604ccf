/* The least that reading event files can cost: one pass over mapped files that follows the
   record lengths, decodes wall time, step and simple_value by hand, finds the tag in a hash table
   and appends to its columns. No checksums, no faults, no order of runs.
   cc -O3 -march=native floor.c -o floor; ./floor FILE...; prints the number of scalars. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SLOTS = 1 << 14 };
typedef struct {
    const uint8_t *tag;
    uint64_t size, hash, count, room;
    double *walls;
    int64_t *steps;
    float *values;
} Column;

static uint64_t varint(const uint8_t **at, const uint8_t *end) {
    uint64_t value = 0;
    for (int shift = 0; *at < end && shift < 64; shift += 7) {
        uint8_t byte = *(*at)++;
        value |= (uint64_t)(byte & 127) << shift;
        if (byte < 128) break;
    }
    return value;
}

static int open_field(const uint8_t **at, const uint8_t *end, uint8_t key) {
    if (*at >= end || **at != key) return 0;
    ++*at;
    return varint(at, end) <= (uint64_t)(end - *at);
}

static Column *column_of(Column *table, const uint8_t *tag, uint64_t size) {
    uint64_t hash = size;
    for (uint64_t i = 0; i < size; i++) hash = hash * 31 + tag[i];
    hash *= 0x9E3779B97F4A7C15ull;
    for (uint64_t slot = hash >> 50;; slot = (slot + 1) % SLOTS) {
        Column *column = &table[slot];
        if (!column->tag) {
            column->tag = tag, column->size = size, column->hash = hash;
            return column;
        }
        if (column->hash == hash && column->size == size && !memcmp(column->tag, tag, size))
            return column;
    }
}

static void add(Column *column, double wall, int64_t step, const uint8_t *value) {
    if (column->count == column->room) {
        column->room = column->room ? 2 * column->room : 64;
        column->walls = realloc(column->walls, column->room * sizeof *column->walls);
        column->steps = realloc(column->steps, column->room * sizeof *column->steps);
        column->values = realloc(column->values, column->room * sizeof *column->values);
    }
    column->walls[column->count] = wall;
    column->steps[column->count] = step;
    memcpy(&column->values[column->count++], value, 4);
}

static uint64_t read_file(const uint8_t *data, uint64_t size) {
    Column *table = calloc(SLOTS, sizeof *table); /* kept: the columns are the result */
    uint64_t points = 0;
    for (uint64_t pos = 0, length; size - pos >= 16; pos += length + 16) {
        memcpy(&length, data + pos, 8);
        if (length > size - pos - 16) break;
        const uint8_t *at = data + pos + 12, *end = at + length;
        if (length < 10 || *at != 0x09) continue;
        double wall;
        memcpy(&wall, at + 1, 8);
        at += 9;
        int64_t step = 0;
        if (*at == 0x10) ++at, step = (int64_t)varint(&at, end);
        if (!open_field(&at, end, 0x2a) || !open_field(&at, end, 0x0a)) continue;
        if (at >= end || *at++ != 0x0a) continue;
        uint64_t tag_size = varint(&at, end);
        if (tag_size + 5 > (uint64_t)(end - at) || at[tag_size] != 0x15) continue;
        add(column_of(table, at, tag_size), wall, step, at + tag_size + 1);
        points++;
    }
    return points;
}

int main(int count, char **paths) {
    uint64_t points = 0;
    for (int i = 1; i < count; i++) {
        struct stat status;
        int file = open(paths[i], O_RDONLY);
        if (file < 0 || fstat(file, &status)) return 1;
        const uint8_t *data =
            mmap(NULL, status.st_size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, file, 0);
        if (data == MAP_FAILED) return 1;
        points += read_file(data, status.st_size);
        close(file);
    }
    printf("%llu\n", (unsigned long long)points);
    return 0;
}
