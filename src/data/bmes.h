/* bmes.h: words from labels of characters: Begin, Middle, End of a word, or Single.
 *
 * Any sequence of labels has a meaning, also an impossible one (M after S): a word begins at a B or an S, and
 * wherever the label before ended one (E, S, or the start of the text).
 */
#ifndef AT_DATA_BMES_H
#define AT_DATA_BMES_H

/* Whether a word begins at a character with this label; before: the label of the one before, 0 at the start.
 */
static inline int at_bmes_begins(char before, char label) {
    return before == 0 || before == 'E' || before == 'S' || label == 'B' || label == 'S';
}

#endif
