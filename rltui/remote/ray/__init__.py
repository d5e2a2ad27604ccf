"""Reads logs on the nodes of a Ray cluster.

::

    RayReader (session's process)  <--socket-->  driver (a process that speaks to Ray)
                                                   |  one call for news at a time per node, and
                                                   |  one for what the session says in between
                                                 NodeReader (an actor on each node) -> Streams

For each place that is read the session has a conversation with a stream on a node, as with another
host; the driver assigns places to nodes and hands bytes on. Each hop takes what it can hold: the
queue of the session bounds the socket, the driver asks a node again only when it has handed on what
that node sent, and a stream waits when its buffer is full. The session's process knows how far each
file came; whoever is replaced (an actor, a node, the driver, the head) goes on from there.

Ray ends or aborts a process whose cluster fails, prints to its terminal and starts threads: so it
lives in a process of its own, which is started again when that happens.
"""
