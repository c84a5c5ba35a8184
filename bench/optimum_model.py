"""The exact optimum of one instance of bench/optimum: least time within a limit of live bytes, as a mixed integer programme.

After Checkmate (Jain et al. 2020): stage t ends with original step t of the fixed order and may run forward steps again before it, in
their order. S[t,v]: value v is in memory when stage t begins. R[t,k]: step k runs in stage t. F[t,v,k]: v's memory is given back after
step k of stage t. What is in memory flows: S[t,v] + R[t,maker of v] = sum of F[t,v,k] + S[t+1,v]. Beyond Checkmate: workspace while a
step runs, gradients and inputs by their own lifetimes, outputs that overwrite a dying input, and gradients that wait because a
parameter is read again after its update was due. Only S is integer: for given S the least R and the most F are integers by themselves.
"""
import highspy
import numpy


class Model:
    """Rows and columns for HiGHS."""

    def __init__(self):
        self.cost, self.lower, self.upper, self.integer = [], [], [], []
        self.rows = []  # (lower, upper, {column: factor})

    def column(self, cost=0.0, upper=1.0, integer=False):
        self.cost.append(cost)
        self.lower.append(0.0)
        self.upper.append(upper)
        self.integer.append(integer)
        return len(self.cost) - 1

    def row(self, lower, upper, terms):
        merged = {}
        for column, factor in terms:
            merged[column] = merged.get(column, 0.0) + factor
        self.rows.append((lower, upper, merged))

    def solve(self, seconds, gap):
        solver = highspy.Highs()
        solver.setOptionValue("output_flag", False)
        solver.setOptionValue("threads", 1)
        solver.setOptionValue("time_limit", float(seconds))
        solver.setOptionValue("mip_rel_gap", gap)
        lp = highspy.HighsLp()
        lp.num_col_, lp.num_row_ = len(self.cost), len(self.rows)
        lp.col_cost_ = numpy.array(self.cost)
        lp.col_lower_, lp.col_upper_ = numpy.array(self.lower), numpy.array(self.upper)
        lp.row_lower_ = numpy.array([max(r[0], -highspy.kHighsInf) for r in self.rows])
        lp.row_upper_ = numpy.array([min(r[1], highspy.kHighsInf) for r in self.rows])
        starts, index, value = [0], [], []
        for _, _, terms in self.rows:
            index += terms.keys()
            value += terms.values()
            starts.append(len(index))
        lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        lp.a_matrix_.start_, lp.a_matrix_.index_ = numpy.array(starts), numpy.array(index)
        lp.a_matrix_.value_ = numpy.array(value, dtype=float)
        lp.integrality_ = [highspy.HighsVarType.kInteger if i else highspy.HighsVarType.kContinuous for i in self.integer]
        solver.passModel(lp)
        solver.run()
        info = solver.getInfo()
        status = solver.getModelStatus()
        return {
            "infeasible": status in (highspy.HighsModelStatus.kInfeasible, highspy.HighsModelStatus.kUnboundedOrInfeasible),
            "optimal": status == highspy.HighsModelStatus.kOptimal,
            "seconds": info.objective_function_value if info.primal_solution_status == 2 else None,
            "bound": info.mip_dual_bound,
            "took": solver.getRunTime(),
            "solution": list(solver.getSolution().col_value),
        }


class Optimum:
    def __init__(self, instance, most_bytes, most_seconds):
        self.values, self.nodes, self.forward = instance["values"], instance["nodes"], instance["forward"]
        self.steps = len(self.nodes)
        self.model = Model()
        self.unit = 1024.0  # bytes of a memory row's unit, for the solver's sake
        self.limit = most_bytes
        self.maker = {v: k for k, node in enumerate(self.nodes) for v in node["outputs"]}
        # Values whose stay is decided: forward values, and inputs of the phase, which nobody can make again.
        self.decided = [v for v, value in enumerate(self.values)
                        if value["candidate"] or (value["source"] and not value["persistent"])]
        self.is_decided = set(self.decided)
        self.users = {v: [k for k, node in enumerate(self.nodes) if v in node["inputs"]] for v in range(len(self.values))}
        self.base_seconds = sum(node["seconds"] for node in self.nodes)
        self.add_columns()
        self.add_dependencies()
        self.add_delays()
        self.add_memory()
        if most_seconds is not None:
            terms = [(c, cost) for c, cost in enumerate(self.model.cost) if cost]
            scale = 1e3
            self.model.row(-1e30, (most_seconds - self.base_seconds) * scale, [(c, f * scale) for c, f in terms])

    def runs(self, t):
        """Steps that stage t may run: forward steps again that only make decided values, then its own."""
        return ([k for k in range(min(t, self.forward)) if self.is_repeatable(k)] if self.may_repeat(t) else []) + [t]

    def may_repeat(self, t):
        """Left out where repeating cannot help. Before an update that needs no workspace: after it there is only more room. In forward,
        where everything that the stage reads was touched by the stage before: nothing can be missing."""
        node = self.nodes[t]
        if node["update"] and node["workspace"] == 0 and not set(node["inputs"]) & self.is_decided:
            return False
        if t >= self.forward:
            return True
        before = set(self.nodes[t - 1]["inputs"]) | set(self.nodes[t - 1]["outputs"]) if t else set(self.decided)
        return not set(node["inputs"]) & self.is_decided <= before

    def is_repeatable(self, k):
        return all(v in self.is_decided for v in self.nodes[k]["outputs"])

    def readers(self, t, v):
        return [k for k in self.users[v] if k == t or (t, k) in self.R]

    def add_columns(self):
        self.S, self.R, self.F = {}, {}, {}
        for t in range(self.steps):
            for k in self.runs(t):
                if k < t:
                    self.R[t, k] = self.model.column(cost=self.nodes[k]["seconds"])
        for v in self.decided:
            born = self.maker.get(v, -1)
            last = self.steps - 1
            for t in range(born + 1, last + 1):
                if self.maker.get(v) is None and t == 0:
                    continue  # an input is there at the start
                self.S[t, v] = self.model.column(integer=True)
            for t in range(max(born, 0), self.steps):
                places = set(self.readers(t, v))
                if born >= 0 and (t == born or (t, born) in self.R):
                    places.add(born)
                for k in places:
                    self.F[t, v, k] = self.model.column()

    def held(self, t, v):
        """(terms, constant) of S[t,v]."""
        if v not in self.maker and t == 0:
            return [], 1.0
        return ([(self.S[t, v], 1.0)], 0.0) if (t, v) in self.S else ([], 0.0)

    def run(self, t, k):
        if k == t:
            return [], 1.0
        return ([(self.R[t, k], 1.0)], 0.0) if (t, k) in self.R else ([], 0.0)

    def made(self, t, v):
        return self.run(t, self.maker[v]) if v in self.maker and self.maker[v] <= t else ([], 0.0)

    @staticmethod
    def minus(terms):
        return [(column, -factor) for column, factor in terms]

    def add_dependencies(self):
        for t in range(self.steps):
            for k in self.runs(t):
                terms, constant = self.run(t, k)
                for v in set(self.nodes[k]["inputs"]) & self.is_decided:
                    there, always = self.held(t, v)
                    made, must = self.made(t, v)
                    # A step runs only if its inputs are there: R[t,k] <= S[t,v] + R[t,maker].
                    self.model.row(-1e30, always + must - constant, terms + self.minus(there) + self.minus(made))
            for v in self.decided:
                self.add_flow(t, v)

    def add_flow(self, t, v):
        if t < self.maker.get(v, 0):
            return
        there, always = self.held(t, v)
        made, must = self.made(t, v)
        next_, later = self.held(t + 1, v)
        freed = [(self.F[key], 1.0) for key in ((t, v, k) for k in range(t + 1)) if key in self.F]
        total = always + must - later
        self.model.row(-total, -total, there + made + self.minus(next_) + self.minus(freed))
        born = self.maker.get(v)
        if made and len(self.nodes[born]["outputs"]) == 1:
            self.model.row(-1e30, 1 - always, there + made)  # nobody makes what is there
        for k in range(t + 1):
            if (t, v, k) not in self.F:
                continue
            terms, constant = self.run(t, k)
            self.model.row(-1e30, constant, [(self.F[t, v, k], 1.0)] + self.minus(terms))
            for j in self.readers(t, v):
                if j <= k:
                    continue
                reads, surely = self.run(t, j)
                second = self.minus(there) if k == born else []  # of two copies one may go
                room = 1 - surely + (always if k == born else 0)
                self.model.row(-1e30, room, [(self.F[t, v, k], 1.0)] + reads + second)

    def add_delays(self):
        """D[t,u]: at stage t update u, due earlier, still waits for a step that reads its parameter again."""
        self.D, self.waiting, self.last_reader = {}, {}, {}
        for u, node in enumerate(self.nodes):
            if not node["update"]:
                continue
            written = {node["inputs"][i] for _, i in node["in_place"] if i < len(node["inputs"])}
            written = {v for v in written if self.values[v]["persistent"]}
            again = [k for k in range(self.forward) if self.is_repeatable(k) and written & set(self.nodes[k]["inputs"])]
            waits = sum(self.values[v]["bytes"] for v in set(node["inputs"])
                        if not self.values[v]["persistent"] and v not in self.is_decided and max(self.users[v]) == u)
            if not again or waits == 0 or u < self.forward:
                continue
            self.waiting[u], self.last_reader[u] = waits, max(again)
            for t in range(self.steps - 1, u, -1):
                self.D[t, u] = self.model.column()
                for k in again:
                    if (t, k) in self.R:
                        self.model.row(-1e30, 0, [(self.R[t, k], 1.0), (self.D[t, u], -1.0)])
                if (t + 1, u) in self.D:
                    self.model.row(-1e30, 0, [(self.D[t + 1, u], 1.0), (self.D[t, u], -1.0)])

    def other_bytes(self, t, at_own_step):
        """Values whose lifetimes are fixed, alive in stage t before its own step or while that runs."""
        total = 0
        for v, value in enumerate(self.values):
            if v in self.is_decided or value["persistent"] or v not in self.maker:
                continue
            made, last = self.maker[v], max(self.users[v], default=self.maker[v])
            if made < t <= last or (at_own_step and made == t):
                total += value["bytes"]
        return total

    def overwrites(self, t, k):
        """Columns that lower what step k holds, with bytes, and bytes that are surely lowered."""
        node, columns, constant, taken = self.nodes[k], [], 0, set()
        if node["update"]:
            return columns, constant
        for output in sorted({o for o, _ in node["in_place"]}):
            if output >= len(node["outputs"]):
                continue
            made, choices = node["outputs"][output], []
            for o, i in node["in_place"]:
                v = node["inputs"][i]
                if o != output or v in taken or node["inputs"].count(v) > 1 or self.values[v]["persistent"]:
                    continue
                if self.values[v]["bytes"] != self.values[made]["bytes"] or self.values[made]["persistent"]:
                    continue
                if v in self.is_decided:
                    choices.append(v)
                elif max(self.users[v]) == k and v in self.maker:
                    constant += self.values[made]["bytes"]
                    taken.add(v)
                    choices = []
                    break
            if choices:
                used = []
                for v in choices:
                    z = self.model.column()
                    self.model.row(-1e30, 0, [(z, 1.0), (self.F[t, v, k], -1.0)])
                    used.append((z, 1.0))
                    columns.append((z, self.values[v]["bytes"]))
                terms, always = self.run(t, k)
                self.model.row(-1e30, always, used + self.minus(terms))
        return columns, constant

    def add_memory(self):
        for t in range(self.steps):
            for k in self.runs(t):
                terms, constant = [], self.other_bytes(t, k == t)
                for v in self.decided:
                    size = self.values[v]["bytes"]
                    there, always = self.held(t, v)
                    made, must = self.made(t, v) if self.maker.get(v, self.steps) <= k else ([], 0.0)
                    terms += [(c, f * size) for c, f in there + made]
                    constant += (always + must) * size
                    terms += [(self.F[t, v, j], -size) for j in range(k) if (t, v, j) in self.F]
                lowered, surely = self.overwrites(t, k)
                terms += [(column, -size) for column, size in lowered]
                constant -= surely
                runs, always = self.run(t, k)
                terms += [(c, f * self.nodes[k]["workspace"]) for c, f in runs]
                constant += always * self.nodes[k]["workspace"]
                for u, size in self.waiting.items():
                    stage = t if k <= self.last_reader[u] else t + 1
                    if (stage, u) in self.D and u < t:
                        terms.append((self.D[stage, u], size))
                self.model.row(-1e30, (self.limit - constant) / self.unit, [(c, f / self.unit) for c, f in terms])

    def solve(self, seconds, gap=1e-4):
        """Times include the original steps."""
        result = self.model.solve(seconds, gap)
        for key in ("seconds", "bound"):
            if result[key] is not None:
                result[key] += self.base_seconds
        return result
