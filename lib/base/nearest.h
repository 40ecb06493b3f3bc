/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Finds the known word somebody probably meant. Pure. */
#pragma once

#include <stddef.h>

/*
 * The word that takes the fewest slips of the keyboard (a letter more, less or another, two swapped): at most
 * a third of the word, and three. More than
 * one slip away, a word that begins with the whole of it comes first. Case does not matter. NULL: none.
 */
const char *nearest(const char *word, const char *const *words, size_t count);
