/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_product.c - the loops of small products: their order of additions, which is
 * the same on every instruction set and in every layout, and that they touch nothing else. */
#include <criterion/criterion.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "loops/product.h"

enum layout { PLAIN, TURNED, STEPS, BACKWARDS, LAYOUTS };

/* Memory of exactly what the matrix touches, for sanitizers. */
struct matrix {
	char *memory;
	size_t bytes;
	struct product_matrix at;
};

static struct matrix matrix_make(int64_t rows, int64_t cols, unsigned es, enum layout lay)
{
	int64_t row = cols * es, col = es;
	struct matrix m;

	if (lay == TURNED) {
		row = es;
		col = rows * es;
	} else if (lay == STEPS) {
		col = 2 * es;
		row = cols * col + es;
	}
	m.bytes = rows && cols ? (size_t)((rows - 1) * row + (cols - 1) * col + es) : 0;
	m.memory = malloc(m.bytes + !m.bytes);
	m.at = (struct product_matrix){m.memory, row, col};
	if (lay == BACKWARDS && m.bytes)
		m.at = (struct product_matrix){m.memory + m.bytes - es, -row, -col};
	return m;
}

static char *element(const struct product_matrix *m, int64_t i, int64_t j)
{
	return m->at + i * m->row + j * m->col;
}

static uint32_t next(void)
{
	static uint32_t x = 1;

	return x = x * 1664525u + 1013904223u, x >> 8;
}

static double number(void)
{
	return ((double)next() - 8e6) * (next() % 2 ? 1e-6 : 1.0);
}

static void fill(struct matrix *m, unsigned dtype)
{
	bool real = dtype == DT_FLOAT64 || dtype == DT_COMPLEX128;

	for (size_t i = 0; i < m->bytes; i++)
		m->memory[i] = (char)next();
	if (dtype_row(dtype)->cls < CLASS_FLOAT)
		return;
	for (size_t i = 0; i < m->bytes / (real ? 8 : 4); i++) {
		if (real)
			((double *)m->memory)[i] = number();
		else
			((float *)m->memory)[i] = (float)number();
	}
}

#define ADD_UP(T, WIDE)                                                                            \
	do {                                                                                       \
		T sum = *(T *)to;                                                                  \
		for (int64_t k = 0; k < p->k; k++)                                                 \
			sum = (T)(sum + (T)((WIDE) * (T *)element(&p->a, i, k) * (WIDE) *          \
					    (T *)element(&p->b, k, j)));                           \
		*(T *)to = sum;                                                                    \
	} while (0)
/* Where `fuses`, products are not rounded. */
#define ADD_UP_REAL(T, FMA)                                                                        \
	do {                                                                                       \
		T sum = *(T *)to;                                                                  \
		for (int64_t k = 0; k < p->k; k++) {                                               \
			T x = *(T *)element(&p->a, i, k), y = *(T *)element(&p->b, k, j);          \
			sum = fuses ? FMA(x, y, sum) : sum + x * y;                                \
		}                                                                                  \
		*(T *)to = sum;                                                                    \
	} while (0)
#define ADD_UP_COMPLEX(T)                                                                          \
	do {                                                                                       \
		T *sum = (T *)to;                                                                  \
		for (int64_t k = 0; k < p->k; k++) {                                               \
			const T *x = (T *)element(&p->a, i, k), *y = (T *)element(&p->b, k, j);    \
			T re = x[0] * y[0] - x[1] * y[1], im = x[0] * y[1] + x[1] * y[0];          \
			sum[0] += re;                                                              \
			sum[1] += im;                                                              \
		}                                                                                  \
	} while (0)

/* One element, as product.h says. */
static void by_the_book(const struct product_call *p, unsigned dtype, bool fuses, int64_t i,
			int64_t j, char *to)
{
	switch (dtype) {
	case DT_BOOL:
		for (int64_t k = 0; k < p->k; k++)
			*to |= (char)(*element(&p->a, i, k) && *element(&p->b, k, j));
		break;
	case DT_INT8:
	case DT_UINT8:
		ADD_UP(uint8_t, uint32_t);
		break;
	case DT_INT16:
	case DT_UINT16:
		ADD_UP(uint16_t, uint32_t);
		break;
	case DT_INT32:
	case DT_UINT32:
		ADD_UP(uint32_t, uint32_t);
		break;
	case DT_INT64:
	case DT_UINT64:
		ADD_UP(uint64_t, uint64_t);
		break;
	case DT_FLOAT32:
		ADD_UP_REAL(float, fmaf);
		break;
	case DT_FLOAT64:
		ADD_UP_REAL(double, fma);
		break;
	case DT_COMPLEX64:
		ADD_UP_COMPLEX(float);
		break;
	default:
		ADD_UP_COMPLEX(double);
		break;
	}
}

static const struct product_isa *table(int level)
{
	return level == ISA_V4	 ? &product_isa_v4
	       : level == ISA_V3 ? &product_isa_v3
				 : &product_isa_v2;
}

static void check(const struct product_call *p, const struct matrix *c, unsigned dtype, bool add)
{
	unsigned es = dtype_row(dtype)->bytes;
	char *scratch = aligned_alloc(64, PRODUCT_SCRATCH);
	char *before = malloc(c->bytes + 1), *want = malloc(c->bytes + 1);

	memcpy(before, c->memory, c->bytes);
	if (!add && dtype == DT_BOOL)
		memset(before, 0, c->bytes);
	for (int level = ISA_V2; level <= (int)isa_best(); level++) {
		memcpy(want, before, c->bytes);
		for (int64_t i = 0; i < p->m; i++)
			for (int64_t j = 0; j < p->n; j++) {
				char *to = want + (element(&p->c, i, j) - c->memory);

				if (!add)
					memset(to, 0, es);
				by_the_book(p, dtype, p->fused && level > ISA_V2, i, j, to);
			}
		memcpy(c->memory, before, c->bytes);
		product_multiply(&table(level)->type[dtype], p, add, scratch);
		cr_assert_eq(memcmp(c->memory, want, c->bytes), 0,
			     "%s %ldx%ldx%ld a %ld,%ld b %ld,%ld c %ld,%ld add %d level %d",
			     dtype_row(dtype)->name, (long)p->m, (long)p->k, (long)p->n,
			     (long)p->a.row, (long)p->a.col, (long)p->b.row, (long)p->b.col,
			     (long)p->c.row, (long)p->c.col, add, level);
	}
	free(before);
	free(want);
	free(scratch);
}

static void every_layout(unsigned dtype, int64_t m, int64_t n, int64_t k, bool fused)
{
	unsigned es = dtype_row(dtype)->bytes;

	for (int way = 0; way < LAYOUTS * LAYOUTS * LAYOUTS; way++) {
		struct matrix a = matrix_make(m, k, es, (enum layout)(way % LAYOUTS));
		struct matrix b = matrix_make(k, n, es, (enum layout)(way / LAYOUTS % LAYOUTS));
		struct matrix c =
			matrix_make(m, n, es, (enum layout)(way / LAYOUTS / LAYOUTS % LAYOUTS));
		struct product_call p = {a.at, b.at, c.at, m, n, k, 0, fused};

		fill(&a, dtype);
		fill(&b, dtype);
		fill(&c, dtype);
		if (dtype == DT_BOOL)
			for (size_t i = 0; i < c.bytes; i++)
				c.memory[i] &= 1;
		check(&p, &c, dtype, false);
		check(&p, &c, dtype, true);
		free(a.memory);
		free(b.memory);
		free(c.memory);
	}
}

Test(product, has_one_order_whatever_the_layout_and_the_instructions, .timeout = 300)
{
	static const int64_t size[][3] = {{1, 1, 1},	{2, 2, 2},   {3, 3, 3},	  {4, 1, 4},
					  {5, 7, 0},	{9, 10, 11}, {1, 37, 5},  {37, 1, 6},
					  {6, 33, 17},	{35, 5, 2},  {3, 3, 530}, {2, 600, 19},
					  {7, 18, 1030}};

	for (unsigned d = 0; d < DTYPE_END; d++)
		for (size_t i = 0; i < sizeof size / sizeof size[0]; i++)
			if (dtype_computes(d) && d != DT_FLOAT16)
				every_layout(d, size[i][0], size[i][1], size[i][2], false);
}

Test(product, of_middling_size_is_contracted_where_the_processor_can, .timeout = 300)
{
	static const int64_t size[][3] = {{17, 31, 63}, {23, 18, 85}, {40, 19, 512}, {3, 11, 1030}};

	for (unsigned d = 0; d < DTYPE_END; d++)
		for (size_t i = 0; i < sizeof size / sizeof size[0]; i++)
			if (dtype_computes(d) && d != DT_FLOAT16)
				every_layout(d, size[i][0], size[i][1], size[i][2],
					     product_fused(size[i][0], size[i][1], size[i][2]));
}

Test(product, stacks_are_their_products_one_by_one)
{
	enum { X = 3, Y = 4, M = 3, N = 2, K = 5, END = X * Y * M * N };
	double a[Y][M][K], b[X][K][N], c[END + 1];
	struct product_stack s = {
		.first = {{(char *)a, K * 8, 8},
			  {(char *)b, N * 8, 8},
			  {(char *)c, N * 8, 8},
			  M,
			  N,
			  K,
			  0},
		.axes = 2,
		.extent = {X, Y},
		.step = {{0, M * K * 8}, {K * N * 8, 0}, {Y * M * N * 8, M * N * 8}}};
	char *scratch = aligned_alloc(64, PRODUCT_SCRATCH);

	for (int i = 0; i < Y * M * K; i++)
		((double *)a)[i] = number();
	for (int i = 0; i < X * K * N; i++)
		((double *)b)[i] = number();
	for (int level = ISA_V2; level <= (int)isa_best(); level++)
		for (int cut = 0; cut <= X * Y; cut++) {
			c[END] = 0.5;
			product_many(&table(level)->type[DT_FLOAT64], &s, cut, X * Y, scratch);
			product_many(&table(level)->type[DT_FLOAT64], &s, 0, cut, scratch);
			/* The first part may not reach into the second, nor that beyond the end. */
			cr_assert_eq(c[END], 0.5);
			for (int at = 0; at < END; at++) {
				int j = at % N, i = at / N % M, y = at / N / M % Y,
				    x = at / N / M / Y;
				double sum = 0;

				for (int k = 0; k < K; k++)
					sum += a[y][i][k] * b[x][k][j];
				cr_assert(memcmp(&sum, &c[at], 8) == 0, "level %d, %d", level, at);
			}
		}
	free(scratch);
}

/* The tree of kernels/tree.h, an addition at a time. */
#define TREE_SUM(T)                                                                                \
	static T tree_##T(const T *v, int64_t vstep, const T *a, int64_t step, int64_t n)          \
	{                                                                                          \
		enum { LANES = 256 / sizeof(T), BLOCK = 1024 };                                    \
		T stack[64], s = 0;                                                                \
		int sp = 0;                                                                        \
                                                                                                   \
		for (int64_t done = 0, block = 1; done < n; done += BLOCK, block++) {              \
			T lane[LANES];                                                             \
                                                                                                   \
			for (int l = 0; l < LANES; l++)                                            \
				lane[l] = (T)-0.0;                                                 \
			for (int64_t k = done; k < n && k < done + BLOCK; k++)                     \
				lane[(k - done) % LANES] += v[k * vstep] * a[k * step];            \
			for (int w = LANES / 2; w; w /= 2)                                         \
				for (int l = 0; l < w; l++)                                        \
					lane[l] += lane[l + w];                                    \
			s = lane[0];                                                               \
			for (int64_t m = block; !(m & 1); m >>= 1)                                 \
				s = stack[--sp] + s;                                               \
			stack[sp++] = s;                                                           \
		}                                                                                  \
		for (s = stack[--sp]; sp > 0;)                                                     \
			s = stack[--sp] + s;                                                       \
		return s;                                                                          \
	}                                                                                          \
	static void check_tree_##T(unsigned dtype, int64_t n, int64_t cols, int64_t vstep)         \
	{                                                                                          \
		size_t all = (size_t)(n * cols), some = (size_t)((n - 1) * vstep + 1);             \
		T *a = malloc(all * sizeof(T)), *v = malloc(some * sizeof(T));                     \
		T *to = malloc((size_t)(cols + 1) * sizeof(T)), want;                              \
                                                                                                   \
		for (size_t i = 0; i < all; i++)                                                   \
			a[i] = i % 5 == 0 ? (T)-0.0 : (T)number();                                 \
		for (size_t i = 0; i < some; i++)                                                  \
			v[i] = i % 7 == 0 ? (T)0.0 : (T)number();                                  \
		for (int level = ISA_V2; level <= (int)isa_best(); level++) {                      \
			const struct product_loops *l = &table(level)->type[dtype];                \
			struct product_across p = {(char *)v,                                      \
						   (char *)a,                                      \
						   vstep * (int)sizeof(T),                         \
						   cols * (int)sizeof(T),                          \
						   n,                                              \
						   0};                                             \
                                                                                                   \
			to[cols] = 0.5;                                                            \
			l->across((char *)to, &p, cols);                                           \
			cr_assert_eq(to[cols], 0.5);                                               \
			for (int64_t j = 0; j < cols; j++) {                                       \
				want = tree_##T(v, vstep, a + j, cols, n);                         \
				cr_assert(memcmp(&want, to + j, sizeof(T)) == 0,                   \
					  "level %d, %ld by %ld: %ld", level, (long)n, (long)cols, \
					  (long)j);                                                \
			}                                                                          \
			/* The first row with the vector's beginning, both side by side. */        \
			int64_t side = cols < (int64_t)some ? cols : (int64_t)some;                \
			T *x = malloc((size_t)side * sizeof(T)),                                   \
			  *y = malloc((size_t)side * sizeof(T));                                   \
			memcpy(x, a, (size_t)side * sizeof(T));                                    \
			memcpy(y, v, (size_t)side * sizeof(T));                                    \
			l->dot((char *)to, (char *)x, (char *)y, side);                            \
			want = tree_##T(y, 1, x, 1, side);                                         \
			cr_assert(memcmp(&want, to, sizeof(T)) == 0, "level %d, %ld", level,       \
				  (long)side);                                                     \
			const char *each[PRODUCT_DOTS] = {(char *)x, (char *)y, (char *)y,         \
							  (char *)x};                              \
			T sums[PRODUCT_DOTS + 1], square = tree_##T(y, 1, y, 1, side);             \
			sums[PRODUCT_DOTS] = 0.5;                                                  \
			l->dots((char *)sums, each, (char *)y, side);                              \
			for (int r = 0; r < PRODUCT_DOTS; r++)                                     \
				cr_assert(memcmp(each[r] == (char *)x ? &want : &square, sums + r, \
						 sizeof(T)) == 0,                                  \
					  "level %d, %ld, row %d", level, (long)side, r);          \
			cr_assert_eq(sums[PRODUCT_DOTS], 0.5);                                     \
			free(x);                                                                   \
			free(y);                                                                   \
		}                                                                                  \
		free(a);                                                                           \
		free(v);                                                                           \
		free(to);                                                                          \
	}
TREE_SUM(float)
TREE_SUM(double)

Test(product, sums_of_a_vector_with_a_matrix_are_the_trees, .timeout = 300)
{
	static const int64_t rows[] = {1,  2,  3,  4,  5,   6,	  7,	31,   32,   33,	 34,
				       63, 64, 65, 66, 100, 1023, 1024, 1025, 2049, 7000};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		for (int64_t cols = 1; cols <= 70; cols += cols < 36 ? 1 : 11)
			for (int64_t vstep = 1; vstep <= 3; vstep += 2) {
				if (rows[i] > 1024 && cols % 5)
					continue;
				check_tree_float(DT_FLOAT32, rows[i], cols, vstep);
				check_tree_double(DT_FLOAT64, rows[i], cols, vstep);
			}
}

/* Rows beside each other, the last of which and the vector end where readable memory does, and lie
 * `off` bytes beyond a multiple of an element's bytes. */
#define MANY_ROWS(T)                                                                               \
	static void several_rows_##T(unsigned dtype, int64_t n, int64_t off)                       \
	{                                                                                          \
		size_t row = (size_t)n * sizeof(T), all = PRODUCT_DOTS * row;                      \
		char *a = malloc(all + (size_t)off), *b = malloc(row + (size_t)off);               \
		T *x = malloc(all), *v = malloc(row), sums[PRODUCT_DOTS + 1];                      \
		const char *rows[PRODUCT_DOTS];                                                    \
                                                                                                   \
		for (int64_t i = 0; i < PRODUCT_DOTS * n; i++)                                     \
			x[i] = i % 5 == 0 ? (T)-0.0 : (T)number();                                 \
		for (int64_t i = 0; i < n; i++)                                                    \
			v[i] = i % 7 == 0 ? (T)0.0 : (T)number();                                  \
		x[n / 2] = (T)NAN;                                                                 \
		x[n + n / 3] = (T)INFINITY;                                                        \
		memcpy(a + off, x, all);                                                           \
		memcpy(b + off, v, row);                                                           \
		for (int r = 0; r < PRODUCT_DOTS; r++)                                             \
			rows[r] = a + off + (size_t)r * row;                                       \
		for (int level = ISA_V2; level <= (int)isa_best(); level++) {                      \
			sums[PRODUCT_DOTS] = 0.5;                                                  \
			table(level)->type[dtype].dots((char *)sums, rows, b + off, n);            \
			cr_assert_eq(sums[PRODUCT_DOTS], 0.5);                                     \
			cr_assert(isnan(sums[0]));                                                 \
			for (int r = 1; r < PRODUCT_DOTS; r++) {                                   \
				T want = tree_##T(v, 1, x + r * n, 1, n);                          \
                                                                                                   \
				cr_assert(memcmp(&want, sums + r, sizeof(T)) == 0 ||               \
						  (isnan(want) && isnan(sums[r])),                 \
					  "level %d, %ld: row %d", level, (long)n, r);             \
			}                                                                          \
		}                                                                                  \
		free(a), free(b), free(x), free(v);                                                \
	}
MANY_ROWS(float)
MANY_ROWS(double)

Test(product, sums_of_several_rows_are_the_trees, .timeout = 300)
{
	/* About the stripes, the blocks and the chunk of the tree, and rows of 4096 bytes. */
	static const int64_t some[] = {1, 32, 64, 512, 576, 1024, 1088, 2048, 3072, TREE_CHUNK};

	for (size_t i = 0; i < sizeof some / sizeof *some; i++)
		for (int64_t n = some[i] - 9; n <= some[i] + 9; n++)
			for (int64_t off = 0; n > 0 && n <= TREE_CHUNK && off <= 5; off += 5) {
				several_rows_float(DT_FLOAT32, n, off);
				several_rows_double(DT_FLOAT64, n, off);
			}
}

/* Rows that end where readable memory does, into a result that ends where others begin. */
#define SHORT_ROWS(T)                                                                              \
	static void short_rows_##T(unsigned dtype, int64_t n, int64_t rows)                        \
	{                                                                                          \
		size_t all = (size_t)(rows * n);                                                   \
		T *a = malloc(all * sizeof(T)), *v = malloc((size_t)n * sizeof(T));                \
		T *to = malloc((size_t)(rows + 1) * sizeof(T)), want;                              \
                                                                                                   \
		for (size_t i = 0; i < all; i++)                                                   \
			a[i] = i % 5 == 0 ? (T)-0.0 : (T)number();                                 \
		for (int64_t i = 0; i < n; i++)                                                    \
			v[i] = i % 7 == 0 ? (T)0.0 : (T)number();                                  \
		for (int level = ISA_V2; level <= (int)isa_best(); level++) {                      \
			const struct product_loops *l = &table(level)->type[dtype];                \
			struct product_rows p = {(char *)a, (char *)v, n * (int)sizeof(T), n};     \
                                                                                                   \
			to[rows] = 0.5;                                                            \
			l->rows((char *)to, &p, rows);                                             \
			cr_assert_eq(to[rows], 0.5);                                               \
			for (int64_t r = 0; r < rows; r++) {                                       \
				want = tree_##T(v, 1, a + r * n, 1, n);                            \
				cr_assert(memcmp(&want, to + r, sizeof(T)) == 0,                   \
					  "level %d, %ld of %ld: %ld", level, (long)rows, (long)n, \
					  (long)r);                                                \
			}                                                                          \
		}                                                                                  \
		free(a);                                                                           \
		free(v);                                                                           \
		free(to);                                                                          \
	}
SHORT_ROWS(float)
SHORT_ROWS(double)

Test(product, sums_of_short_rows_are_the_trees)
{
	for (int64_t n = 1; n * 8 <= PRODUCT_ROW; n++)
		for (int64_t rows = 1; rows <= 19; rows++)
			short_rows_double(DT_FLOAT64, n, rows);
	for (int64_t n = 1; n * 4 <= PRODUCT_ROW; n++)
		for (int64_t rows = 1; rows <= 35; rows += 2)
			short_rows_float(DT_FLOAT32, n, rows);
}

Test(product, which_loops_depends_on_the_shape)
{
	cr_assert(product_short(32, 32, 32) && product_small(32, 32, 32));
	cr_assert(product_short(33, 32, 32) && product_fused(33, 32, 32));
	cr_assert(!product_fused(32, 32, 32) && product_fused(16, 100, 100));
	cr_assert(!product_fused(100000, 3, 4) && product_fused(100000, 3, 5));
	cr_assert(product_fused(100, 100, 100) && !product_short(102, 102, 102));
	cr_assert(product_fused(20, 20, 2048) && !product_short(20, 20, 2049));
	cr_assert(product_short(1000000, 16, 1000000) && !product_small(1000000, 16, 1000000));
	cr_assert(!product_short(1, 17, 1000) && product_short(1, 17, 64));
	cr_assert(!product_small((int64_t)1 << 40, (int64_t)1 << 40, (int64_t)1 << 40));
}
