struct entry {
  char *word;
  unsigned long hash;
  int count;  /* how often it occurs */
};

static const unsigned long kPrime = 1099511628211U;
struct entry table[4096], *last = 0;
double load[2] = {0.5, .75e+1f,};

unsigned long hash_of(const char *text, size_t length) {
  unsigned long h = 0xCBF29CE484222325uL;
  for (size_t i = 0; i < length; ++i) {
    h ^= (unsigned char)text[i];
    h *= kPrime;
  }
  return h;
}

int compare(const char *a, const char *b) {
  while (*a && *a == *b) a++, b++;
  return *a - *b;  // negative, zero or positive
}

struct entry *find(const char *word, size_t length) {
  unsigned long h = hash_of(word, length), i = h & (sizeof(table) / sizeof(struct entry) - 1);
  do {
    struct entry *e = &table[i];
    if (e->word == 0 || (e->hash == h && !compare(e->word, word))) return e;
    i = (i + 1) % 4096;
  } while (i != h);
  return 0;
}

void classify(int c) {
  switch (c) {
    case '\n':
    case 'a': print("line\tor " "letter \x41\n"); break;
    default: print(c >= '0' && c <= '9' ? "digit" : "other", c << 2 | ~c);
  }
}

int main(void) {
  char *text = read_all(), *p = text;
  int total = 0;
  for (; *p != '\0'; p += 1) {
    if (*p == ' ') {
      continue;
    } else if (*p == '"') {
      total += 2;
    } else {
      last = find(p, 1);
      last->count++, total--;
    }
  }
  return (int)load[total > 10] == 3;
}
