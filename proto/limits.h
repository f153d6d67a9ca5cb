/* SPDX-License-Identifier: Apache-2.0 */
/* proto/limits.h - every bound that client and daemon share or enforce.
 *
 * A value from the wire that passes one of these is an error with this name in
 * its message; a buffer that grows is created with one of these as its cap. */
#ifndef BRAZE_LIMITS_H
#define BRAZE_LIMITS_H

/* Protocol version: a different major is refused, a minor may differ. */
#define BRAZE_PROTO_MAJOR 1
#define BRAZE_PROTO_MINOR 17

#define SPENT_WORDS  4	/* in an answer that says what was spent */
#define MINOR_SHARED 7	/* from this one on a value may lie beside the arena */
#define MINOR_STAY   8	/* and a demand may leave values where they are computed */
#define MINOR_BRAIN  12 /* there are arrays of bfloat16 */
#define MINOR_GRID   14 /* and loops of kernels among the operations */
#define MINOR_RATES  15 /* and an offer tells what a choice of a device is made from */
#define MINOR_SUMS   16 /* and loops that add up scalars are among the operations */
#define MINOR_KEEPS  17 /* and those whose turns keep what they store elsewhere */

#define LIMIT_NDIM		8	      /* axes of an array */
#define LIMIT_PACKET_BYTES	(60 * 1024)   /* one message, one packet */
#define LIMIT_FDS_PER_PACKET	2	      /* more closes the connection */
#define LIMIT_OPS_PER_PACKET	1024	      /* the client flushes at this many */
#define LIMIT_OPERANDS		64	      /* of an operation on a list */
#define LIMIT_IDS		(1u << 22)    /* array ids are below this */
#define LIMIT_ARRAY_BYTES	(1ull << 44)  /* bytes of one buffer */
#define LIMIT_ARENA_BYTES	(64ull << 30) /* sparse size of a connection's arena */
#define LIMIT_ARENA_LEAST_BYTES (1ull << 27)  /* 64 GiB are halved down to that */
#define LIMIT_LEASE_BYTES	(64ull << 20) /* first lease for host data */
#define LIMIT_LEASES		512	      /* pieces of leased space */
#define LIMIT_SHARES		256	      /* arrays of a user with memory of their own */
#define LIMIT_SHARE_BYTES	(64ull << 20) /* results of so many bytes have it by themselves */
#define LIMIT_EXPORTS		1024 /* arrays of a session whose device memory others use */
#define LIMIT_PUBLISHED		256  /* names under which a user publishes */
#define LIMIT_PUBLISHED_NAME	64   /* bytes of each, with the 0 */
#define LIMIT_NOTICE		256  /* bytes of a welcome's notice, with the 0 */
#define LIMIT_SESSION_NAME	64   /* bytes of a session's name, program and job, with the 0 */
#define LIMIT_SESSION_TEXT	256  /* of its file and its environment */
#define LIMIT_INLINE_BYTES	64   /* results up to this travel in the reply */
#define LIMIT_DEMAND_IDS	256  /* ids in one demand */
#define LIMIT_DEMAND_ALSO	64   /* ids beside them that are only told of */
#define LIMIT_COMPILES		64   /* kernels of text that a client waits for */
#define LIMIT_COMPILE_TEXT	(32u << 10) /* bytes of each text, with the 0 */
#define LIMIT_GRIDS		4096	    /* loops of kernels that a session defines */
#define LIMIT_GRID_TEXT		(48u << 10) /* bytes of each one's text, with the 0 */
#define LIMIT_GRID_ARRAYS	30	    /* of each */
#define LIMIT_GRID_HINT		62	    /* the logarithm of how many instructions it does */
#define LIMIT_TICKET_LOAD	(1u << 16)  /* waits, and versions waited for, of a client */
#define LIMIT_PENDING_OPS	4096	    /* pending ops that force a cut */
#define LIMIT_PENDING_HARD	(1u << 20)  /* pending ops that end a connection */
#define LIMIT_PARTITION_OPS	1024	    /* ops planned at once */
#define LIMIT_RECIPE_OPS	8	    /* longer chains are stored */
#define LIMIT_RECIPE_BYTES	(64u << 10) /* named values of no more are, too */
#define LIMIT_NEST_INSTRS	256	    /* instructions of one fused nest */
#define LIMIT_NEST_ACCESSES	32	    /* array parameters of one kernel */
#define LIMIT_NEST_SCALARS	64	    /* scalar parameters of one kernel */
#define LIMIT_NEST_REDUCES	8	    /* reductions of one kernel */
#define LIMIT_NEST_CHECKS	8	    /* INDEX operations of one kernel */
#define LIMIT_NEST_SECTIONS	8	    /* of one nest: four at every point, four in between */
#define LIMIT_PARTITION_CHECKS	64	    /* and of what is planned at once */
#define LIMIT_FUSE_WINDOW	64	    /* nests looked back at when fusing */
#define LIMIT_CLIENTS		256	    /* connections */
#define LIMIT_DEVICES		4	    /* the CPU and three more */
#define LIMIT_USER_WORKERS	8	    /* of one GPU, with isolation by users */
#define LIMIT_VISIBLE		1024	    /* a client's CUDA_VISIBLE_DEVICES */
#define LIMIT_DEVICE_NAME	16	    /* bytes of a device's name, with the 0 */
#define LIMIT_CLIENTS_PER_UID	64
#define LIMIT_UNREAD_BYTES	(32u << 20) /* replies waiting for a client that does not read */
#define LIMIT_STATUS_BYTES	(4u << 20)
#define LIMIT_ERROR_TEXT	256	    /* bytes of an error message, with the 0 */
#define LIMIT_EXPLAIN_TEXT	(16u << 10) /* of how an array was made */

/* Host data that a client imports lies on a multiple of host_align(bytes) and takes
 * whole multiples of it; what a client skips to get there is the daemon's again. */
#define HOST_ALIGN	  64
#define HOST_ALIGN_LARGE  4096
#define HOST_LARGE_BYTES  (64u << 10) /* more bytes are large */
#define host_align(bytes) ((uint64_t)((bytes) > HOST_LARGE_BYTES ? HOST_ALIGN_LARGE : HOST_ALIGN))

/* Where an array lies that a demand names beside those that it waits for, in one word: the
 * offset of its buffer, and in the bits that HOST_ALIGN leaves free: */
#define ALSO_STORED 1u /* without it the word is 0 */
#define ALSO_ALONE  2u /* nothing else reads it */

/* The one summation tree (docs/architecture.md, "Reductions"). */
#define TREE_BLOCK 1024	 /* elements summed by lanes */
#define TREE_CHUNK 65536 /* elements one thread reduces alone; 64 blocks */
/* A product with a vector of at most so many multiplications is summed by the tree; larger ones may
 * be a library's.  Clients sum the small ones, too. */
#define LIMIT_TREE_PRODUCT 32768
#define LIMIT_ACROSS	   8 /* elements of its result, at least */
/* Columns that lie side by side are summed by the tree up to here. */
#define LIMIT_SUMMED_PRODUCT 524288
/* A product of two matrices is computed by our own loops, near and in the worker, when it has at
 * most so many multiplications (and no long inner axis), or a side as short as this; others may be
 * a library's. */
#define LIMIT_OWN_PRODUCT 1048576
/* Of so many the inner axis is not cut, however long. */
#define LIMIT_SHORT_PRODUCT 32768
#define LIMIT_SHORT_SIDE    16
/* With one row or one column it is a product with a vector, if its inner axis is longer. */
#define LIMIT_SHORT_INNER 64

#endif
