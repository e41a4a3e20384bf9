<?xml version="1.0" encoding="UTF-8"?>
<!-- SPDX-License-Identifier: GPL-2.0-or-later -->
<!-- Jobs that wait, in their order: when each starts, why it waits, every factor of its priority. -->
<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform"
	xmlns:f="https://reeve.example/format" exclude-result-prefixes="f">
<xsl:import href="layout.xsl"/>
<xsl:variable name="title">Queue</xsl:variable>
<xsl:variable name="here">/web/queue</xsl:variable>
<xsl:key name="weighing" match="/page/prio/rows/item/factors/item[number(@product) != 0 or (@weight != 0 and @factor != 'site' and @factor != 'nice')]" use="@factor"/>
<!-- The factors that weigh something here, each once. -->
<xsl:variable name="weighing" select="/page/prio/rows/item/factors/item[number(@product) != 0 or (@weight != 0 and @factor != 'site' and @factor != 'nice')]"/>
<xsl:variable name="factors" select="$weighing[generate-id() = generate-id(key('weighing', @factor)[1])]"/>
<xsl:variable name="is-ranked" select="/page/prio/@order = 'priority'"/>
<!-- Shuffled queues have no places: which job is next is shown by the estimated starts. -->
<xsl:variable name="is-shuffled" select="/page/prio/@order = 'shuffle'"/>

<xsl:template name="content">
	<xsl:variable name="n" select="count(prio/rows/item)"/>
	<xsl:variable name="own" select="prio/rows/item[@user = /page/@user]"/>
	<xsl:choose>
		<xsl:when test="$n = 0"><p class="none">No job waits<xsl:if test="not(@operator)"> of yours, or of the projects that you coordinate</xsl:if>.</p></xsl:when>
		<xsl:otherwise>
			<p><xsl:value-of select="prio/@order_words"/>
			<xsl:if test="$is-shuffled"> Listed by estimated start.</xsl:if>
			<xsl:if test="prio/@left_out &gt; 0"> These are <xsl:if test="not($is-shuffled)">the first </xsl:if><xsl:value-of select="$n"/> of <xsl:value-of select="f:count($n + prio/@left_out)"/>.</xsl:if>
			<xsl:if test="$own"><xsl:text> Yours are marked.</xsl:text></xsl:if></p>
			<xsl:call-template name="table"/>
			<p class="note">An estimated start holds <xsl:value-of select="prio/@sure"/>. Without a time: it starts later than was computed here (its own page has the time),
			or something without a known end holds it back.</p>
			<xsl:if test="$is-ranked"><p class="note">Factors in points; each is its value times its weight here:
				<xsl:for-each select="$factors"><xsl:if test="position() &gt; 1">, </xsl:if><xsl:value-of select="@factor"/><xsl:text> </xsl:text><xsl:value-of select="f:count(@weight)"/></xsl:for-each>.</p></xsl:if>
		</xsl:otherwise>
	</xsl:choose>
</xsl:template>

<!-- The order of the queue: held jobs last, others by priority where one weighs, or by estimated start where queues are shuffled, then by submission. -->
<xsl:template name="table">
	<div class="scroll" tabindex="0" role="region" aria-label="Queue">
	<table class="jobs">
		<thead><tr><xsl:if test="not($is-shuffled)"><th scope="col" class="figure">Place</th></xsl:if><th scope="col">Job</th><th scope="col">Estimated start</th><th scope="col">Name</th><th scope="col">User</th><th scope="col">Account</th><th scope="col">Queue</th>
			<th scope="col">Submitted</th>
			<xsl:if test="$is-ranked"><th scope="col" class="figure">Priority</th>
				<xsl:for-each select="$factors"><th scope="col" class="figure"><xsl:value-of select="@factor"/></th></xsl:for-each></xsl:if></tr></thead>
		<tbody><xsl:for-each select="prio/rows/item">
			<xsl:sort select="boolean(@held)"/>
			<xsl:sort select="$is-shuffled and not(@starts_at_ns)"/>
			<xsl:sort select="sum(@starts_at_ns) * $is-shuffled" data-type="number"/>
			<xsl:sort select="@priority * $is-ranked" data-type="number" order="descending"/>
			<xsl:sort select="@job" data-type="number"/>
			<xsl:call-template name="row"/>
		</xsl:for-each></tbody>
	</table>
	</div>
</xsl:template>

<xsl:template name="row">
	<xsl:variable name="row" select="."/>
	<tr class="with-end"><xsl:if test="@user = /page/@user"><xsl:attribute name="class">with-end own</xsl:attribute></xsl:if>
		<xsl:if test="not($is-shuffled)"><td class="figure"><xsl:value-of select="position()"/></td></xsl:if>
		<th scope="row"><xsl:call-template name="job-link"/></th>
		<td class="pair"><xsl:choose>
			<xsl:when test="@starts_at_ns &gt; /page/@now_ns">in <xsl:value-of select="f:duration((@starts_at_ns - /page/@now_ns) div 1000000000)"/>
				<span class="note under"><xsl:value-of select="f:time(@starts_at_ns)"/></span></xsl:when>
			<xsl:when test="@starts_at_ns">soon</xsl:when>
			<xsl:otherwise>-</xsl:otherwise>
		</xsl:choose></td>
		<td class="name"><xsl:value-of select="@name"/></td><td><xsl:value-of select="@user"/></td><td><xsl:value-of select="@account"/></td><td><xsl:value-of select="@queue"/></td>
		<td class="pair"><xsl:value-of select="f:time(@submitted_ns)"/></td>
		<xsl:if test="$is-ranked">
			<td class="figure"><xsl:value-of select="f:count(@priority)"/></td>
			<xsl:for-each select="$factors"><td class="figure"><xsl:value-of select="f:count($row/factors/item[@factor = current()/@factor]/@product)"/></td></xsl:for-each>
		</xsl:if></tr>
	<tr><xsl:if test="@user = /page/@user"><xsl:attribute name="class">own</xsl:attribute></xsl:if>
		<xsl:if test="not($is-shuffled)"><td/></xsl:if><td colspan="{7 + $is-ranked * (1 + count($factors))}" class="end"><div><xsl:value-of select="@why"/></div></td></tr>
</xsl:template>
</xsl:stylesheet>
