<?xml version="1.0" encoding="UTF-8"?>
<!-- SPDX-License-Identifier: GPL-2.0-or-later -->
<!-- Parts of a job's page: what it cost and why, the same request in the other queues, what to request next, its GPUs, its steps. -->
<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform"
	xmlns:f="https://reeve.example/format" exclude-result-prefixes="f">

<xsl:template name="side">
	<xsl:param name="of"/>
	<xsl:choose>
		<xsl:when test="$of = 'gpus'">GPUs</xsl:when>
		<xsl:otherwise><xsl:value-of select="$of"/></xsl:otherwise>
	</xsl:choose>
</xsl:template>

<!-- One line of advice: what a request of the same job needs. -->
<xsl:template name="advice">
	<xsl:variable name="e" select="/page/eff/rows/item[1]"/>
	<xsl:if test="$e">
		<h2 id="next">What to request next</h2>
		<xsl:choose>
			<xsl:when test="$e/@advice"><p class="sentence advice"><xsl:value-of select="$e/@advice"/></p></xsl:when>
			<xsl:when test="$e/@unadvised"><p class="sentence"><xsl:value-of select="$e/@unadvised"/></p></xsl:when>
			<xsl:otherwise><p>It still runs: no smaller request can be advised yet.</p></xsl:otherwise>
		</xsl:choose>
		<xsl:if test="$e/@note"><p class="note"><xsl:value-of select="$e/@note"/></p></xsl:if>
		<xsl:if test="$e/@not_measured"><p class="note">Not measured: <xsl:value-of select="$e/@not_measured"/>.</p></xsl:if>
	</xsl:if>
</xsl:template>

<!-- A decimal to three places; other numbers, as 11/6, whole. -->
<xsl:template name="short">
	<xsl:param name="of"/>
	<xsl:choose>
		<xsl:when test="contains($of, '.') and number($of) &gt;= 0.001"><xsl:value-of select="format-number($of, '0.###')"/></xsl:when>
		<xsl:otherwise><xsl:value-of select="$of"/></xsl:otherwise>
	</xsl:choose>
</xsl:template>

<xsl:template name="cost">
	<xsl:variable name="p" select="/page/price"/>
	<xsl:variable name="unit" select="f:unit(@unit)"/>
	<h2 id="cost">What it cost</h2>
	<p><xsl:choose>
		<xsl:when test="@running_ns &gt; 0"><strong><xsl:value-of select="f:hours(@charge_requested_ms)"/></strong><xsl:text> </xsl:text><xsl:value-of select="$unit"/> were charged:
			<xsl:call-template name="short"><xsl:with-param name="of" select="@rate"/></xsl:call-template> for each hour that it ran (<xsl:value-of select="f:duration-ns(@running_ns)"/>).
			A request of just what it used would have cost <xsl:value-of select="f:hours(@charge_used_ms)"/>.</xsl:when>
		<xsl:when test="@state = 'ended'">Nothing was charged: it did not run.</xsl:when>
		<xsl:otherwise>Nothing was charged yet: it has not run. Each hour that it runs will cost <xsl:call-template name="short"><xsl:with-param name="of" select="@rate"/></xsl:call-template><xsl:text> </xsl:text><xsl:value-of select="$unit"/>.</xsl:otherwise>
	</xsl:choose>
	<xsl:if test="@adjusted_ms">Operators adjusted it by <xsl:value-of select="f:hours(@adjusted_ms)"/>.</xsl:if></p>
	<xsl:if test="$p/sides/item">
		<div class="scroll" tabindex="0" role="region" aria-label="How the rate was made"><table class="narrow">
			<caption>Rate: <xsl:choose>
				<xsl:when test="$p/@is_sum = 'true'">the sum of what each resource counts</xsl:when>
				<xsl:otherwise>the largest of what each resource counts</xsl:otherwise></xsl:choose></caption>
			<thead><tr><th scope="col">Resource</th><th scope="col" class="figure">Occupied</th><th scope="col" class="figure">One unit is</th><th scope="col" class="figure">Units</th><th scope="col">Sets the charge</th></tr></thead>
			<tbody><xsl:for-each select="$p/sides/item"><tr>
				<xsl:if test="@decides = 'true'"><xsl:attribute name="class">own</xsl:attribute></xsl:if>
				<th scope="row"><xsl:call-template name="side"><xsl:with-param name="of" select="@side"/></xsl:call-template></th>
				<td class="figure"><xsl:choose><xsl:when test="@side = 'memory'"><xsl:value-of select="f:bytes(@occupied, @occupied)"/></xsl:when><xsl:otherwise><xsl:value-of select="@occupied"/></xsl:otherwise></xsl:choose></td>
				<td class="figure"><xsl:choose><xsl:when test="@side = 'memory'"><xsl:value-of select="f:bytes(@per_unit_bytes, @occupied)"/></xsl:when><xsl:otherwise><xsl:value-of select="@per_unit"/></xsl:otherwise></xsl:choose></td>
				<td class="figure"><xsl:call-template name="short"><xsl:with-param name="of" select="@units"/></xsl:call-template></td>
				<td><xsl:choose>
					<xsl:when test="$p/@is_sum = 'true'">is added</xsl:when>
					<xsl:when test="@decides = 'true'">yes: the largest</xsl:when>
					<xsl:otherwise>no</xsl:otherwise></xsl:choose></td>
			</tr></xsl:for-each></tbody>
		</table></div>
	</xsl:if>
	<xsl:if test="@rule != ''"><p class="note">Rule: <xsl:value-of select="@rule"/></p></xsl:if>
	<xsl:if test="count($p/queues/item) &gt; 0">
		<h2 id="queues">The same request in each queue</h2>
		<div class="scroll" tabindex="0" role="region" aria-label="Price by queue"><table class="narrow">
			<thead><tr><th scope="col">Queue</th><th scope="col" class="figure">Factor</th><th scope="col" class="figure">Rate</th><th scope="col" class="figure">The time it ran</th><th scope="col" class="figure">Its whole walltime</th><th scope="col">In</th></tr></thead>
			<tbody><xsl:for-each select="$p/queues/item"><tr>
				<xsl:if test="@is_own = 'true'"><xsl:attribute name="class">own</xsl:attribute></xsl:if>
				<th scope="row"><xsl:value-of select="@queue"/><xsl:if test="@is_own = 'true'"> (this job)</xsl:if></th>
				<xsl:choose>
					<xsl:when test="@no_price"><td colspan="5" class="sentence">not here: <xsl:value-of select="@no_price"/></td></xsl:when>
					<xsl:otherwise>
						<td class="figure"><xsl:value-of select="@factor"/></td><td class="figure"><xsl:call-template name="short"><xsl:with-param name="of" select="@rate"/></xsl:call-template></td>
						<td class="figure"><xsl:value-of select="f:hours(@running_charge_ms)"/></td><td class="figure"><xsl:value-of select="f:hours(@walltime_charge_ms)"/></td>
						<td><xsl:value-of select="f:unit(@unit)"/></td>
					</xsl:otherwise>
				</xsl:choose>
			</tr></xsl:for-each></tbody>
		</table></div>
		<p class="note">By the prices of today; the job itself keeps those of its submission.</p>
	</xsl:if>
</xsl:template>

<xsl:template name="gpus">
	<xsl:if test="gpus/item">
		<h2>Its GPUs</h2>
		<div class="scroll" tabindex="0" role="region" aria-label="GPUs"><table class="narrow">
			<thead><tr><th scope="col">GPU</th><th scope="col">Model</th><th scope="col">Busy, of the time it ran</th><th scope="col" class="figure">Memory, peak</th><th scope="col" class="figure">Idle for</th></tr></thead>
			<tbody><xsl:for-each select="gpus/item"><tr>
				<th scope="row" class="name"><xsl:value-of select="@uuid"/><xsl:if test="@simulated"> (simulated)</xsl:if></th><td><xsl:value-of select="@model"/></td>
				<td><xsl:choose>
					<xsl:when test="@busy_ns"><span class="pair"><xsl:value-of select="f:percent(@busy_ns, ../../@running_ns)"/></span>
						<xsl:call-template name="bar"><xsl:with-param name="part" select="@busy_ns"/><xsl:with-param name="whole" select="../../@running_ns"/></xsl:call-template></xsl:when>
					<xsl:otherwise>not measured</xsl:otherwise></xsl:choose></td>
				<td class="figure"><xsl:value-of select="f:bytes(@mem_peak_bytes)"/></td>
				<td class="figure"><xsl:value-of select="f:duration-ns(@idle_ns)"/></td>
			</tr></xsl:for-each></tbody>
		</table></div>
	</xsl:if>
</xsl:template>

<!-- Which of its cores were busy: one of eight at 100 % is a program with one thread. -->
<xsl:template name="cores">
	<xsl:if test="usage/cores/item and @running_ns &gt; 0">
		<h2>Its cores</h2>
		<p>Busy, of the time it ran.</p>
		<ul class="core-list"><xsl:for-each select="usage/cores/item"><li>
			<span class="pair">core <xsl:value-of select="@cpu"/>: <xsl:value-of select="f:percent(@ns, ../../../@running_ns)"/></span>
			<xsl:call-template name="bar"><xsl:with-param name="part" select="@ns"/><xsl:with-param name="whole" select="../../../@running_ns"/></xsl:call-template>
		</li></xsl:for-each></ul>
	</xsl:if>
</xsl:template>

<xsl:template name="steps">
	<xsl:if test="/page/steps/steps/item">
		<h2>Steps</h2>
		<div class="scroll" tabindex="0" role="region" aria-label="Steps"><table class="narrow">
			<thead><tr><th scope="col" class="figure">Step</th><th scope="col">Node</th><th scope="col">State</th><th scope="col">End</th></tr></thead>
			<tbody><xsl:for-each select="/page/steps/steps/item[position() &lt;= 200]"><tr>
				<th scope="row" class="figure"><xsl:value-of select="@step"/></th><td><xsl:value-of select="@node"/></td>
				<td><xsl:value-of select="@state"/></td>
				<td class="sentence"><xsl:choose>
					<xsl:when test="@text"><xsl:value-of select="@text"/></xsl:when>
					<xsl:when test="@signal &gt; 0">signal <xsl:value-of select="@signal"/></xsl:when>
					<xsl:when test="@exit_status">exit <xsl:value-of select="@exit_status"/></xsl:when>
				</xsl:choose></td>
			</tr></xsl:for-each></tbody>
		</table></div>
		<xsl:if test="count(/page/steps/steps/item) &gt; 200"><p class="note">The first 200 steps; <code>reeve job</code> lists more.</p></xsl:if>
	</xsl:if>
</xsl:template>
</xsl:stylesheet>
