"""Reads logs on the nodes of a Ray cluster.

::

    RayReader (session's process)  <--socket-->  driver (a process that speaks to Ray)
                                                   |  one call for news at a time per node, and
                                                   |  one for what the session asks in between
                                                 NodeReader (an actor on each node) -> Reader

Each hop takes what it can hold: the queue of the session bounds the socket, the driver asks a node
again only when it has handed on what that node sent, and the reader on the node waits when its
queue is full. The session's process knows how far each file came; whoever is replaced (an actor, a
node, the driver, the head) goes on from there.

Ray ends or aborts a process whose cluster fails, prints to its terminal and starts threads: so it
lives in a process of its own, which is started again when that happens.
"""
