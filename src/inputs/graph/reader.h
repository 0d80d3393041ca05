/* reader.h: files to datasets of graphs: what the table of the kind has of them.
 *
 *     TSV    a folder with nodes.tsv, edges.tsv and, for many graphs, graphs.tsv; or the two files
 *     OGB    a folder of the Open Graph Benchmark: raw/edge.csv.gz, raw/node-feat.csv.gz, ..., split/
 *     NPZ    arrays of NumPy: sparse matrices as in the gnn-benchmark, or edges and features as in the
 *            heterophilous benchmark
 *
 * An edge that leads from one node to another means that the second sees the first. Files may be gzip.
 * What each has to look like is in tsv.h, ogb.c and npz.c.
 */
#ifndef AT_INPUTS_GRAPH_READER_H
#define AT_INPUTS_GRAPH_READER_H

#include "data/graphs.h"
#include "inputs/input.h"

/* The formats of files, in the order of their numbers. */
enum { AT_GRAPH_AUTO, AT_GRAPH_TSV, AT_GRAPH_OGB, AT_GRAPH_NPZ };
extern const char *const at_graph_formats[];

extern const at_content_kind at_graph_content;

/* A folder with nodes.tsv, edges.tsv or what OGB has, or a file nodes.tsv; each may end with .gz. An .npz is
 * known by what is in it alone. */
int at_graph_knows(const char *path);
attn_status at_graph_read_files(attn_context *context, const at_source *source, attn_dataset **dataset);
int at_graph_detect(const char *name, const char *bytes, size_t count, const attn_reader_options *options);
int at_graph_pieces(int format);
int at_graph_takes_two(const attn_reader_options *options);
attn_status at_graph_describe(const attn_dataset *dataset, const attn_describe_options *options,
                              at_writer *writer);

#endif
